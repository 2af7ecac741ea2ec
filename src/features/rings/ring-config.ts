import type { ConfigFile } from '../../daemon/config/schema/schema.ts'
import type { RingRule } from '../../sync/pull/rings/promotion.ts'

/** A ring of the configuration, with its members as the operator wrote them. */
export interface RingConfig extends RingRule {
  readonly principals: readonly string[]
  readonly groups: readonly RingGroup[]
  /** The share of the principals that no ring names, from 0 to 1. */
  readonly share: number
  readonly isAnonymous: boolean
  /** The rise of the share of failed uses, from 0 to 1, above which the ring does not take the new content of a skill. */
  readonly mostFailures: number
}

/** A group of a ring, with its principals. */
export interface RingGroup {
  readonly id: string
  readonly principals: readonly string[]
}

/** The rings of a checked file. */
export function ringsOf({ rings = [], groups = {} }: Pick<ConfigFile, 'rings' | 'groups'>): readonly RingConfig[] {
  return rings.map((ring) => ({
    id: ring.id,
    minAgeMs: ring.min_age ?? 0,
    principals: ring.principals ?? [],
    groups: (ring.groups ?? []).map((id) => ({ id, principals: groups[id] ?? [] })),
    share: ring.share ?? 0,
    isAnonymous: ring.anonymous === true,
    mostFailures: ring.most_failures ?? MOST_FAILURES,
  }))
}

/** The default of `most_failures`. */
const MOST_FAILURES = 0.05

/** The ring, if it has a channel of its own. The last ring has none: its channel is that of everything. */
export function earlierRing(ring: string | undefined, rings: readonly { readonly id: string }[]): string | undefined {
  return ring === rings.at(-1)?.id ? undefined : ring
}
