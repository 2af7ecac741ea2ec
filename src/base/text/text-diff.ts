/** Lines that differ, with context lines. Each begins with a space, a plus or a minus. */
export interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}

/** Finds the hunks in which two texts differ. `undefined` if the texts have too little in common. */
export async function hunksOf(before: string, after: string): Promise<readonly Hunk[] | undefined> {
  const { structuredPatch } = await import('diff')
  return structuredPatch('', '', before, after, '', '', { context: 3, maxEditLength: MOST_EDITS })?.hunks
}

/** The largest distance of two texts, in lines. The search takes the square of it. */
const MOST_EDITS = 2_000
