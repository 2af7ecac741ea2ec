import { isSshAddress } from './scalars.ts'

/** An entry of `defaults`, or what of one stands in a file. */
interface Defaults {
  readonly match: string
  readonly [key: string]: unknown
}

/**
 * What a source says, and where it says nothing the entries that match its address: for each key the one with the longest
 * match that has it. `schedule` and `every` are one thing said in two ways.
 */
export function withDefaults<Entry extends object>(entry: Entry, url: string, defaults: readonly Defaults[]): Entry {
  const shared = new Map<string, unknown>()
  const matching = defaults.filter(({ match }) => isMatch(match, url))
  for (const layer of matching.toSorted((a, b) => normal(a.match).length - normal(b.match).length)) {
    if (saysWhen(layer)) forgetWhen(shared)
    for (const [key, value] of Object.entries(layer)) if (key !== 'match') shared.set(key, value)
  }
  if (saysWhen(entry)) forgetWhen(shared)
  return { ...Object.fromEntries(shared), ...entry }
}

function saysWhen(layer: object): boolean {
  return 'schedule' in layer || 'every' in layer
}

function forgetWhen(shared: Map<string, unknown>): void {
  shared.delete('schedule')
  shared.delete('every')
}

/** Whether the address begins so, up to a slash or its end; with `git@host:path`, up to the colon too. */
function isMatch(match: string, url: string): boolean {
  const [prefix, address] = [normal(match), normal(url)]
  if (!address.startsWith(prefix)) return false
  const isPlainPath = /[/:]$/.test(prefix) || address.length === prefix.length
  const next = address.charAt(prefix.length)
  return isPlainPath || next === '/' || (next === ':' && !address.includes('://'))
}

/** As the WHATWG says, so that two spellings of one address are one. */
export function normal(address: string): string {
  if (isSshAddress(address) && !address.includes('://')) return address
  return URL.parse(address)?.href ?? address
}
