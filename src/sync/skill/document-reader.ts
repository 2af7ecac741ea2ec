import { frontmatterBlock } from './frontmatter.ts'
import type { FrontmatterLimits, FrontmatterReading } from './frontmatter.ts'
import type { Unrendered } from './hidden-markdown.ts'
import type { HiddenText } from './hidden-unicode.ts'
import type { LookAlikes } from './look-alikes.ts'

/** The content of one SKILL.md, regardless of other files. */
export interface DocumentReading {
  readonly frontmatter: FrontmatterReading
  /** Text that a rendered page does not show, in the searched bytes. */
  readonly unrendered: readonly Unrendered[]
  /** Words that are not what they look like, in the same bytes. */
  readonly lookAlikes: LookAlikes | undefined
  /** The number of bytes after the searched ones. */
  readonly unsearched: number
  /** Hidden characters of a document with a NUL, for which no other search exists. */
  readonly hidden: HiddenText | undefined
}

/**
 * Reads documents, in any thread. The result is that of `documentReading`, except that the frontmatter is refused with
 * `isUnfinished` if the reading does not finish.
 */
export interface DocumentReader {
  read(bytes: Uint8Array, limits: FrontmatterLimits, signal: AbortSignal): Promise<DocumentReading>
  /**
   * The hidden characters of a file of a skill, given its path there; `undefined` if it has none. Throws a `SyncError`
   * if the search does not finish.
   */
  hiddenIn(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<HiddenText | undefined>
  /** The paths below its folder that the links of a SKILL.md name. None if the search does not finish. */
  linkedIn(bytes: Uint8Array, signal: AbortSignal): Promise<readonly string[]>
}

/** The frontmatter alone, as strict YAML. The text after it is not passed to the reader. */
export async function frontmatterBy(
  reader: DocumentReader,
  bytes: Uint8Array,
  limits: FrontmatterLimits,
  signal: AbortSignal,
): Promise<FrontmatterReading> {
  const block = frontmatterBlock(bytes, limits.bytes)
  if (!block.ok) return block
  const { frontmatter } = await reader.read(bytes.subarray(0, block.bodyStart), limits, signal)
  // The declaration of another server is compared with the reading of every reader.
  return frontmatter.ok ? (frontmatter.unquoted?.refusal ?? frontmatter) : frontmatter
}
