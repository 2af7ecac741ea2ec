import { hiddenInText } from './declared-texts.ts'
import type { DocumentReader, DocumentReading } from './model/document-reader.ts'
import { readFrontmatterAsMeant } from './model/frontmatter.ts'
import type { FrontmatterLimits } from './model/frontmatter.ts'
import { hiddenInDocument } from './model/hidden-unicode.ts'
import { lookAlikesIn } from './model/look-alikes.ts'
import { documentParts, unrenderedIn } from './unrendered-text.ts'

/** Reads on the thread of the caller, for a process that has no other client waiting. */
export const READ_HERE: DocumentReader = {
  read: async (bytes, limits) => documentReading(bytes, limits),
  hiddenIn: async (path, bytes) => hiddenInText({ path }, bytes),
}

/** Reads a SKILL.md, whatever its bytes are. Never throws. */
export function documentReading(bytes: Uint8Array, limits: FrontmatterLimits): DocumentReading {
  const parts = documentParts(bytes.subarray(0, SEARCHED_BYTES))
  return {
    frontmatter: readFrontmatterAsMeant(bytes, limits),
    unrendered: unrenderedIn(parts),
    lookAlikes: lookAlikesIn(parts.text),
    unsearched: Math.max(0, bytes.length - SEARCHED_BYTES),
    hidden: bytes.includes(0) ? hiddenInDocument(bytes) : undefined,
  }
}

/** As much of a document as is searched for text that people do not see as it is. */
export const SEARCHED_BYTES = 2 ** 18
