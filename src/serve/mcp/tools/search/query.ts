export const DEFAULT_HITS = 5
export const MOST_HITS = 50
/** Maximum length of the query text. */
export const MOST_CHARACTERS = 1_000
/** A lower limit cannot hold one hit. */
export const LEAST_TOKENS = 50
