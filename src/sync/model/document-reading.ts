import { frontmatterBlock, readFrontmatter } from './frontmatter.ts'
import type { FrontmatterLimits, FrontmatterReading } from './frontmatter.ts'
import { hiddenInDocument } from './hidden-unicode.ts'
import type { HiddenText } from './hidden-unicode.ts'
import { unrenderedIn } from './unrendered.ts'
import type { Unrendered } from './unrendered.ts'

/** The content of one SKILL.md, by itself. */
export interface DocumentReading {
  readonly frontmatter: FrontmatterReading
  /** Text that a rendered page does not show. */
  readonly unrendered: readonly Unrendered[]
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
  return {
    frontmatter: readFrontmatter(bytes, limits),
    unrendered: unrenderedIn(bytes),
    hidden: bytes.includes(0) ? hiddenInDocument(bytes) : undefined,
  }
}
