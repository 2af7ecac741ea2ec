/** The maximum length that OpenSSH compares; a longer pattern matches nothing there. */
export const MOST_PATTERN_CHARACTERS = 1022

/**
 * True if the name matches a pattern of the comma-separated list and none of those that begin with `!`: PATTERNS in
 * ssh_config(5), case-sensitive.
 */
export function matchesList(name: string, list: string): boolean {
  const patterns = list.split(',')
  const denied = patterns.some((pattern) => pattern.startsWith('!') && matches(name, pattern.slice(1)))
  return !denied && patterns.some((pattern) => !pattern.startsWith('!') && matches(name, pattern))
}

/** True if the name matches the pattern, in which `*` stands for any characters and `?` for one. */
export function matches(name: string, pattern: string): boolean {
  let [at, inPattern] = [0, 0]
  // The place to retry from if the text after the last star does not match: one character further. An earlier star
  // cannot help then.
  let retry: { at: number; readonly inPattern: number } | undefined
  while (at < name.length) {
    const wanted = pattern[inPattern]
    if (wanted === '*') {
      inPattern += 1
      retry = { at, inPattern }
    } else if (wanted === '?' || wanted === name[at]) {
      at += 1
      inPattern += 1
    } else if (retry === undefined) {
      return false
    } else {
      retry.at += 1
      at = retry.at
      inPattern = retry.inPattern
    }
  }
  return /^\**$/.test(pattern.slice(inPattern))
}
