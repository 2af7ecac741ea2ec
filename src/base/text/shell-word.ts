/**
 * Quotes one word of a command that the operator pastes into a shell. It quotes the brackets of an IPv6 address too,
 * which some shells take for a pattern.
 */
export function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
