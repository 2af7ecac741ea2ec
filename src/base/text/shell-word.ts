/** One word of a command that somebody pastes into a shell. Brackets of an IPv6 address are a pattern to some shells. */
export function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
