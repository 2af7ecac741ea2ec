import { z } from 'zod'
import { isObject } from '../../base/json-object.ts'
import { keyText } from '../../daemon/config/rules/config-error.ts'
import type { Fault } from '../../daemon/config/rules/config-error.ts'
import { duplicateIds, entriesAt } from '../../daemon/config/rules/entries.ts'
import { duration, id, line, mapping, percent, percentOf } from '../../daemon/config/schema/scalars.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import type { RingRule } from '../../sync/pull/rings/promotion.ts'
import type { ChannelSettings } from '../channel/channel-config.ts'

/** A principal: the name of a token, or the id that the log and the audit have. */
const PRINCIPAL = line(200)

const RING = mapping(() => ({
  id: id().describe('The name of the ring.'),
  principals: z
    .array(PRINCIPAL)
    .optional()
    .describe('Principals in this ring, each by the name of its token or its id.'),
  share: percent()
    .optional()
    .describe('The share of all principals that no ring names, such as 5%; the last ring has the rest.'),
  min_age: duration()
    .optional()
    .describe('The time for which the ring before serves a commit until this one takes it. Default: none.'),
  most_failures: percent()
    .optional()
    .describe('Content of a skill whose share of failed uses is greater by more than this is not taken. Default: 5%.'),
  anonymous: z
    .boolean()
    .optional()
    .describe('true: clients without a token, and those of skillsyncd mcp, are in this ring. Default: the last ring.'),
}))

/** The keys of rings. */
export const RING_KEYS = {
  rings: z
    .array(RING)
    .min(2)
    .max(8)
    .optional()
    .describe('The rings in which commits reach clients, that of the newest content first.'),
}

/** A ring of the configuration, with its members as the operator wrote them. */
export interface RingConfig extends RingRule {
  readonly principals: readonly string[]
  /** The share of the principals that no ring names, from 0 to 1. */
  readonly share: number
  readonly isAnonymous: boolean
  /** The rise of the share of failed uses, from 0 to 1, above which the ring does not take the new content of a skill. */
  readonly mostFailures: number
}

/** The rings in the configuration. */
export interface RingSettings {
  /** The ring of the newest content is the first; none, or two at least. */
  readonly rings: readonly RingConfig[]
}

/** The configuration of a hub, with its rings and its channel. */
export type RingHubConfig = RingSettings & ChannelSettings & ServedConfig

/** The rings of a checked file. */
export function ringsOf({ rings = [] }: z.output<z.ZodObject<typeof RING_KEYS>>): readonly RingConfig[] {
  return rings.map((ring) => ({
    id: ring.id,
    minAgeMs: ring.min_age ?? 0,
    principals: ring.principals ?? [],
    share: ring.share ?? 0,
    isAnonymous: ring.anonymous === true,
    mostFailures: ring.most_failures ?? MOST_FAILURES,
  }))
}

/** The default of `most_failures`. */
const MOST_FAILURES = 0.05

/** Finds the faults between rings: a principal that two of them name, shares over 100 %, an age of the first one. */
export function ringFaults(value: unknown): Fault[] {
  const rings = entriesAt(value, 'rings')
  const last = rings.length - 1
  const shares = rings.map((ring) => (isObject(ring) ? (percentOf(String(ring['share'])) ?? 0) : 0))
  const sum = shares.reduce((total, share) => total + share, 0)
  return [
    ...duplicateIds(value, 'rings'),
    ...(sum > 1 + ROUNDING
      ? [{ path: ['rings'], message: `has shares of ${Math.round(sum * 10_000) / 100}% together; 100% is the most` }]
      : []),
    ...rings.flatMap((ring, index): Fault[] => (isObject(ring) ? ringFaultsAt(ring, index, last) : [])),
    ...doubleFaults(rings),
  ]
}

/** The shares are fractions of two digits each. */
const ROUNDING = 1e-9

function ringFaultsAt(ring: Readonly<Record<string, unknown>>, index: number, last: number): Fault[] {
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
  return faults
}

/** Finds principals that two rings name, and a second ring for clients without a token. */
function doubleFaults(rings: readonly unknown[]): Fault[] {
  const first = new Map<string, number>()
  const faults: Fault[] = []
  for (const [index, ring] of rings.entries()) {
    if (!isObject(ring)) continue
    const named = entriesAt(ring, 'principals').filter((one) => typeof one === 'string')
    const isAnonymous = ring['anonymous'] === true ? ['clients without a token'] : []
    for (const who of new Set([...named.map((name) => JSON.stringify(name)), ...isAnonymous])) {
      const earlier = first.get(who)
      if (earlier === undefined) first.set(who, index)
      else faults.push({ path: ['rings', index], message: `has ${who}, as ${keyText(['rings', earlier])} has` })
    }
  }
  return faults
}
