/** What somebody looks for, checked. */
export interface SkillQuery {
  readonly text: string
  /** How many hits at the most. */
  readonly limit: number
}

export const DEFAULT_HITS = 5
export const MOST_HITS = 50
/** Of the text. */
export const MOST_CHARACTERS = 1_000
/** Fewer do not hold one hit. */
export const LEAST_TOKENS = 50
