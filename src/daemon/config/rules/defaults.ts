import { isSshAddress } from '../schema/address-faults.ts'

/** An entry of `defaults`, or the part of one that exists in a file. */
interface Defaults {
  readonly match: string
  readonly [key: string]: unknown
}

/**
 * The source, with the keys it lacks filled in from the entries that match its address. For each key the longest match
 * that has it wins.
 */
export function withDefaults<Entry extends object>(entry: Entry, url: string, defaults: readonly Defaults[]): Entry {
  const shared = new Map<string, unknown>()
  const matching = defaults.filter(({ match }) => isMatch(match, url))
  for (const layer of matching.toSorted((a, b) => normalizeUrl(a.match).length - normalizeUrl(b.match).length)) {
    for (const [key, value] of Object.entries(layer)) if (key !== 'match') shared.set(key, value)
  }
  return { ...Object.fromEntries(shared), ...entry }
}

/** True if the address begins with the match, up to a slash or its end; for `git@host:path` also up to the colon. */
function isMatch(match: string, url: string): boolean {
  const [prefix, address] = [normalizeUrl(match), normalizeUrl(url)]
  if (!address.startsWith(prefix)) return false
  const isPlainPath = /[/:]$/.test(prefix) || address.length === prefix.length
  const next = address.charAt(prefix.length)
  return isPlainPath || next === '/' || (next === ':' && !address.includes('://'))
}

/** Normalized as the WHATWG defines, so that two spellings of one address are equal. */
export function normalizeUrl(address: string): string {
  if (isSshAddress(address) && !address.includes('://')) return address
  return URL.parse(address)?.href ?? address
}
