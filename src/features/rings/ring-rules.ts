import { isObject } from '../../base/json-object.ts'
import { keyText } from '../../daemon/config/rules/config-error.ts'
import type { Fault } from '../../daemon/config/rules/config-error.ts'
import { entriesAt, valueAt } from '../../daemon/config/rules/entries.ts'
import { percentOf } from '../../daemon/config/schema/scalars.ts'

/** Finds the faults between rings: a principal that two of them name, shares over 100 %, an age of the first one. */
export function ringFaults(value: unknown): Fault[] {
  const rings = entriesAt(value, 'rings')
  const named = valueAt(value, 'groups')
  const groups = isObject(named) ? named : {}
  const last = rings.length - 1
  const shares = rings.map((ring) => (isObject(ring) ? (percentOf(String(ring['share'])) ?? 0) : 0))
  const sum = shares.reduce((total, share) => total + share, 0)
  return [
    ...(sum > 1 + ROUNDING
      ? [{ path: ['rings'], message: `has shares of ${Math.round(sum * 10_000) / 100}% together; 100% is the most` }]
      : []),
    ...rings.flatMap((ring, index): Fault[] => (isObject(ring) ? ringFaultsAt(ring, index, last, groups) : [])),
    ...doubleFaults(rings, groups),
  ]
}

/** The shares are fractions of two digits each. */
const ROUNDING = 1e-9

function ringFaultsAt(
  ring: Readonly<Record<string, unknown>>,
  index: number,
  last: number,
  groups: Readonly<Record<string, unknown>>,
): Fault[] {
  const path = ['rings', index]
  const faults: Fault[] = []
  if (index === 0 && ring['min_age'] !== undefined)
    faults.push({ path: [...path, 'min_age'], at: 'key', message: 'is not for the first ring: it takes each commit' })
  if (index === 0 && ring['most_failures'] !== undefined)
    faults.push({
      path: [...path, 'most_failures'],
      at: 'key',
      message: 'is not for the first ring: it takes each commit',
    })
  if (index === last && ring['share'] !== undefined)
    faults.push({ path: [...path, 'share'], at: 'key', message: 'is not for the last ring: it has the rest' })
  for (const [at, group] of listIn(ring, 'groups').entries())
    if (!Object.hasOwn(groups, group))
      faults.push({ path: [...path, 'groups', at], message: 'must be the name of a group in `groups`' })
  return faults
}

/** Finds principals that two rings name, and a second ring for clients without a token. */
function doubleFaults(rings: readonly unknown[], groups: Readonly<Record<string, unknown>>): Fault[] {
  const first = new Map<string, number>()
  const faults: Fault[] = []
  for (const [index, ring] of rings.entries()) {
    if (!isObject(ring)) continue
    const named = [...listIn(ring, 'principals'), ...listIn(ring, 'groups').flatMap((group) => listIn(groups, group))]
    const isAnonymous = ring['anonymous'] === true ? ['clients without a token'] : []
    for (const who of new Set([...named.map((name) => JSON.stringify(name)), ...isAnonymous])) {
      const earlier = first.get(who)
      if (earlier === undefined) first.set(who, index)
      else faults.push({ path: ['rings', index], message: `has ${who}, as ${keyText(['rings', earlier])} has` })
    }
  }
  return faults
}

function listIn(value: Readonly<Record<string, unknown>>, key: string): readonly string[] {
  const list = Object.hasOwn(value, key) ? value[key] : undefined
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}
