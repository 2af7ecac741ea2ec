/** The uses of one content of a skill, and those of them that failed. */
export interface UseFigures {
  readonly uses: number
  readonly failures: number
}

/** The failures that it takes at least: a client that fails once or twice stops nothing. */
export const LEAST_FAILURES = 3

/**
 * True if the new content of a skill fails clearly more often than the content that the ring serves: `LEAST_FAILURES` times
 * or more, and with a share of its uses that is greater than before by more than `most`. Content without uses has no
 * failures.
 */
export function isFailureRise(before: UseFigures | undefined, after: UseFigures | undefined, most: number): boolean {
  if (after === undefined || after.failures < LEAST_FAILURES) return false
  return shareOf(after) - shareOf(before) > most
}

function shareOf(figures: UseFigures | undefined): number {
  return figures === undefined || figures.uses === 0 ? 0 : figures.failures / figures.uses
}
