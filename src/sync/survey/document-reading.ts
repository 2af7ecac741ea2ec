import type { DocumentReader, DocumentReading } from '../skill/document-reader.ts'
import { cutLinesOf } from '../skill/frontmatter-remarks.ts'
import { readFrontmatterAsMeant } from '../skill/frontmatter.ts'
import type { FrontmatterLimits } from '../skill/frontmatter.ts'
import { hiddenInDocument } from '../skill/hidden-unicode.ts'
import { isAbsolute, linkedPath, resolveInSkill } from '../skill/linked-path.ts'
import { lookAlikesIn } from '../skill/look-alikes.ts'
import { linksIn } from '../skill/markdown/markdown-links.ts'
import { hiddenInText } from './listing-hidden-text.ts'
import { documentParts, unrenderedIn } from './unrendered-text.ts'

/** Reads on the caller's thread, for a process without other waiting clients. */
export const READ_HERE: DocumentReader = {
  read: async (bytes, limits) => documentReading(bytes, limits),
  hiddenIn: async (path, bytes) => hiddenInText({ path }, bytes),
  linkedIn: async (bytes) => linkedPathsIn(bytes),
}

/** Reads a SKILL.md, whatever its bytes are. Never throws. */
export function documentReading(bytes: Uint8Array, limits: FrontmatterLimits): DocumentReading {
  const parts = documentParts(bytes.subarray(0, SEARCHED_BYTES))
  const frontmatter = readFrontmatterAsMeant(bytes, limits)
  return {
    frontmatter,
    unrendered: unrenderedIn(parts, frontmatter.ok ? cutLinesOf(frontmatter) : []),
    lookAlikes: lookAlikesIn(parts.text),
    unsearched: Math.max(0, bytes.length - SEARCHED_BYTES),
    hidden: bytes.includes(0) ? hiddenInDocument(bytes) : undefined,
  }
}

/** The part of a document that is searched for text that people do not see as it is. */
export const SEARCHED_BYTES = 2 ** 18

/**
 * The paths below its folder that a SKILL.md names, each once: those of its links, then those in its text and code that
 * begin with a usual folder. Only the first paths in the first bytes. Excludes folders and SKILL.md itself. Never throws.
 */
export function linkedPathsIn(bytes: Uint8Array): readonly string[] {
  const { text, bodyStart } = documentParts(bytes.subarray(0, SEARCHED_BYTES))
  const paths = new Set<string>()
  const add = (path: string | undefined): void => {
    if (path !== undefined && paths.size < MOST) paths.add(path)
  }
  for (const { target } of linksIn(text, bodyStart)) add(insideOf(target))
  for (const [, named = ''] of text.slice(bodyStart).matchAll(NAMED_IN_TEXT)) {
    const path = insideOf(named.replace(/\.+$/, ''))
    if (/^(?:scripts|references|assets)\//.test(path ?? '')) add(path)
  }
  return [...paths]
}

/** Paths that begin with a usual folder of a skill (Agent Skills, optional directories). Scripts are often named so only. */
const NAMED_IN_TEXT = /(?<=^|[\s`"'=])(?:\.\/)?((?:scripts|references|assets)\/[\w./-]{1,200})(?=$|[\s`"'),;:\]])/gm

/** A skill that links to more files has a list of them elsewhere. */
const MOST = 64

function insideOf(target: string): string | undefined {
  const path = linkedPath(target)
  if (path === undefined || isAbsolute(path) || /[/\\]$/.test(path)) return undefined
  const inside = resolveInSkill('', path)
  return inside === '' || inside === 'SKILL.md' ? undefined : inside
}
