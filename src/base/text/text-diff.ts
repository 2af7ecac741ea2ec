/** Lines that differ, with those around them: each with a space, a plus or a minus before it. */
export interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}

/** The places where two texts differ. Undefined where they have too little in common. */
export async function hunksOf(before: string, after: string): Promise<readonly Hunk[] | undefined> {
  const { structuredPatch } = await import('diff')
  return structuredPatch('', '', before, after, '', '', { context: 3, maxEditLength: MOST_EDITS })?.hunks
}

/** How far apart two texts may be, in lines: finding out takes the square of it. */
const MOST_EDITS = 2_000
