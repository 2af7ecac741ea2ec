import { folderOf } from '../../../base/paths.ts'
import type { SkillLimits } from '../../model/skill.ts'
import { pathOf, readUpstreamUri } from '../../model/upstream-uri.ts'
import type { DocumentReader } from '../../skill-md/document-reader.ts'
import type { Finding, FindingRule } from '../../skill-md/finding.ts'
import type { FrontmatterLimits } from '../../skill-md/frontmatter.ts'
import type { UnpackedArchives } from './archives.ts'
import type { FileCache } from './file-cache.ts'
import type { FileLists } from './file-lists.ts'
import type { LinkedFiles } from './linked-files.ts'
import type { Enumerating } from './pages.ts'

/** The operator's rules for listing one server. */
export interface LookRules {
  readonly skill: SkillLimits
  readonly frontmatter: FrontmatterLimits
  readonly reader: DocumentReader
  /** The limit for a file without a declared size. */
  readonly fileBytes: number
  /** The timeout for the first answer to a method. */
  readonly connectMs: number
  /** Returns the skills that the operator currently names by URI, which the server need not list. */
  readonly named: () => readonly NamedSkill[]
  /** True if the skill at a path is wanted; nothing is read for others. */
  readonly isWanted: (path: string) => boolean
  /** True if files with a digest and no size are read to learn their size; by the URI of their SKILL.md. */
  readonly isMeasured: (uri: string) => boolean
  /** True if files that the server calls dynamic are accepted with their content at this listing. */
  readonly takesDynamic: boolean
  /** Reports an oddity without consequences. */
  readonly onOddity: (message: string) => void
}

/** A skill that the operator named by the URI of its SKILL.md. */
export interface NamedSkill {
  readonly uri: string
  /** True if it may be read from a server without `skills/get`, and accepted with its content at that time. */
  readonly isUnverified: boolean
}

/** The context of one listing of a server. */
export interface ListingContext extends Enumerating {
  readonly rules: LookRules
  readonly fileCache: FileCache
  /** `undefined` if skills in archives are ignored. */
  readonly archives: UnpackedArchives | undefined
  readonly lists: FileLists
  readonly links: LinkedFiles
}

/** The result of interpreting one skill in an older form. */
export interface MadeEntry {
  /** Absent if no entry could be made, or if the skill is not wanted. */
  readonly entry?: unknown
  /** True if the server does not declare the digests: the files are those that were read. */
  readonly isFirstRead?: boolean
  /** True if the server declares that its files may differ at each read. */
  readonly isDynamic?: boolean
  /** The URI of the archive that contained all of its files. */
  readonly archive?: string
  readonly findings?: readonly Finding[]
}

/** Returns the folder path of a skill; `undefined` if the URI does not name a SKILL.md. */
export function skillPathOf(uri: string): string | undefined {
  const read = readUpstreamUri(uri)
  if (!read.ok || read.segments.at(-1) !== 'SKILL.md' || read.segments.length < 2) return undefined
  return folderOf(pathOf(read))
}

/** Returns everything before `/SKILL.md`, as the server wrote it. */
export function rootOf(uri: string): string {
  return uri.slice(0, uri.lastIndexOf('/'))
}

/** Returns the URI of a skill's file, and encodes the path. */
export function uriOfFile(uri: string, path: string): string {
  return path === 'SKILL.md' ? uri : `${rootOf(uri)}/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** Returns the server's statements about a file in a form to compare and store. */
export function saidIn(values: readonly unknown[]): string {
  return JSON.stringify(values).slice(0, MOST_SAID)
}

const MOST_SAID = 2048

/** Returns a finding for a skill without an entry. */
export function unmade(rule: FindingRule, path: string, message: string): Required<Pick<MadeEntry, 'findings'>> {
  return { findings: [{ rule, path, message }] }
}
