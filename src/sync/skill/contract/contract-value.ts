/** The text without the Unicode whitespace around it, as readers in other languages strip it. */
export function trimWhitespace(text: string): string {
  let [start, end] = [0, text.length]
  // Without a regular expression: one that is anchored at the end takes quadratic time on a long run of spaces.
  while (start < end && WHITE.test(text.charAt(start))) start += 1
  while (end > start && WHITE.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

const WHITE = /\p{White_Space}/u

/** The value for a message: as JSON, shortened if it is long. */
export function shownValue(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value)
  return json.length <= MOST_SHOWN ? json : `${json.slice(0, MOST_SHOWN).toWellFormed()}…`
}

const MOST_SHOWN = 80
