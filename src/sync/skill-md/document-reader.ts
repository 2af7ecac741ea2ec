import { frontmatterBlock } from './frontmatter.ts'
import type { FrontmatterLimits, FrontmatterReading } from './frontmatter.ts'
import type { HiddenText } from './hidden-unicode.ts'
import type { LookAlikes } from './look-alikes.ts'
import type { Unrendered } from './hidden-markdown.ts'

/** The content of one SKILL.md, by itself. */
export interface DocumentReading {
  readonly frontmatter: FrontmatterReading
  /** Text that a rendered page does not show, of the bytes that are searched. */
  readonly unrendered: readonly Unrendered[]
  /** Words that are not what they look like, of the same bytes. */
  readonly lookAlikes: LookAlikes | undefined
  /** The number of bytes that follow those. */
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
  /**
   * The hidden characters of a file of a skill, given its path there; undefined where it has none. Throws a `SyncError` where the
   * search comes to no end.
   */
  hiddenIn(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<HiddenText | undefined>
  /** The paths below its folder that the links of a SKILL.md name. None where the search comes to no end. */
  linkedIn(bytes: Uint8Array, signal: AbortSignal): Promise<readonly string[]>
}

/** The frontmatter alone, as YAML has it: what follows it is not handed over. */
export async function frontmatterBy(
  reader: DocumentReader,
  bytes: Uint8Array,
  limits: FrontmatterLimits,
  signal: AbortSignal,
): Promise<FrontmatterReading> {
  const block = frontmatterBlock(bytes, limits.bytes)
  if (!block.ok) return block
  const { frontmatter } = await reader.read(bytes.subarray(0, block.bodyStart), limits, signal)
  // What another server declares is compared with what every reader makes of the file.
  return frontmatter.ok ? (frontmatter.unquoted?.refusal ?? frontmatter) : frontmatter
}
