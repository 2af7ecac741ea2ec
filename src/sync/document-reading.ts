import { frontmatterBlock, readFrontmatter } from './model/frontmatter.ts'
import type { FrontmatterLimits, FrontmatterReading } from './model/frontmatter.ts'
import { hiddenInDocument } from './model/hidden-unicode.ts'
import type { HiddenText } from './model/hidden-unicode.ts'
import { lookAlikesIn } from './model/look-alikes.ts'
import type { LookAlikes } from './model/look-alikes.ts'
import type { Unrendered } from './model/unrendered.ts'
import { documentParts, unrenderedIn } from './unrendered-text.ts'

/** The content of one SKILL.md, by itself. */
export interface DocumentReading {
  readonly frontmatter: FrontmatterReading
  /** Text that a rendered page does not show, of the first `SEARCHED_BYTES`. */
  readonly unrendered: readonly Unrendered[]
  /** Words that are not what they look like, of the same bytes. */
  readonly lookAlikes: LookAlikes | undefined
  /** How many bytes follow those. */
  readonly unsearched: number
  /** Hidden characters of a document with a NUL, which is looked for nowhere else. */
  readonly hidden: HiddenText | undefined
}

/**
 * Reads documents, wherever that is done. The answer is that of `documentReading`; only where the reading comes to no end, the
 * frontmatter is refused as `isUnfinished`.
 */
export interface DocumentReader {
  read(bytes: Uint8Array, limits: FrontmatterLimits, signal: AbortSignal): Promise<DocumentReading>
}

/** Reads on the thread of the caller, for a process that has no other client waiting. */
export const READ_HERE: DocumentReader = { read: async (bytes, limits) => documentReading(bytes, limits) }

/** The frontmatter alone: what follows it is not handed over. */
export async function frontmatterBy(
  reader: DocumentReader,
  bytes: Uint8Array,
  limits: FrontmatterLimits,
  signal: AbortSignal,
): Promise<FrontmatterReading> {
  const block = frontmatterBlock(bytes, limits.bytes)
  return block.ok ? (await reader.read(bytes.subarray(0, block.bodyStart), limits, signal)).frontmatter : block
}

/** Reads a SKILL.md, whatever its bytes are. Never throws. */
export function documentReading(bytes: Uint8Array, limits: FrontmatterLimits): DocumentReading {
  const parts = documentParts(bytes.subarray(0, SEARCHED_BYTES))
  return {
    frontmatter: readFrontmatter(bytes, limits),
    unrendered: unrenderedIn(parts),
    lookAlikes: lookAlikesIn(parts.text),
    unsearched: Math.max(0, bytes.length - SEARCHED_BYTES),
    hidden: bytes.includes(0) ? hiddenInDocument(bytes) : undefined,
  }
}

/** As much of a document as is searched for text that people do not see as it is. */
export const SEARCHED_BYTES = 2 ** 18
