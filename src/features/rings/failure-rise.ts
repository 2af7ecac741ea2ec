/** The uses of one content of a skill, and those of them that failed. */
export interface UseFigures {
  readonly uses: number
  readonly failures: number
}

/** The least failures that count: a client that fails once or twice stops nothing, and hides nothing. */
export const LEAST_FAILURES = 3

/**
 * True if the new content of a skill fails clearly more often than the content that the ring serves: `LEAST_FAILURES` times
 * or more, and with a share of its uses that is greater than before by more than `most`. Fewer failures than that are a
 * share of 0, and so is content without uses.
 */
export function isFailureRise(before: UseFigures | undefined, after: UseFigures | undefined, most: number): boolean {
  if (after === undefined || after.failures < LEAST_FAILURES) return false
  return shareOf(after) - shareOf(before) > most
}

function shareOf(figures: UseFigures | undefined): number {
  return figures === undefined || figures.failures < LEAST_FAILURES ? 0 : figures.failures / figures.uses
}
