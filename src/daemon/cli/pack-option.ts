import type { Config } from '../config/config.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { UsageError } from '../runtime/usage-error.ts'

/**
 * The packs that `--pack` names, in the order of the configuration, without duplicates. `undefined` if the option is
 * absent.
 */
export function packsNamed(given: unknown, { packs }: Config): readonly string[] | undefined {
  if (!Array.isArray(given)) return undefined
  const named = given.flatMap((list) => String(list).split(','))
  const known = packs.map(({ id }) => id)
  const unknown = named.find((name) => !known.includes(name))
  if (unknown === undefined) return known.filter((id) => named.includes(id))
  // Text in the wrong place may be a token.
  const what = unknown.includes('sks_') ? 'what looks like a token' : `"${printableLine(unknown)}"`
  const there = known.length === 0 ? 'the configuration has none' : `there are ${known.join(', ')}`
  throw new UsageError(`--pack names packs of the configuration; ${what} is none; ${there}`)
}
