import type { SourceId } from '../source-id.ts'

/** One decision of the history. */
export interface Decided extends Decider {
  readonly decision: (typeof DECISIONS)[number]
  readonly source?: SourceId | undefined
  readonly ring?: string | undefined
  /** The path of a skill, its URI at another server, or the digest of a content. */
  readonly skill?: string | undefined
  readonly commit?: string | undefined
  /** True if the followers of this hub follow it. */
  readonly forFollowers?: true | undefined
  readonly reason?: string | undefined
}

/** The party that decides, and the time. */
export interface Decider {
  /** ISO 8601, UTC. */
  readonly at: string
  /** `hub`: a hub that is followed; its decision was obeyed at this time here. */
  readonly by: 'person' | 'scan' | 'hub'
  /** The user who decided, as the client says, or the name of the hub. `undefined` if it is not known. */
  readonly who?: string | undefined
}

/** `add` and `remove`: of a skill of another server, by its URI. */
export const DECISIONS = [
  'hold',
  'release',
  'approve',
  'reject',
  'rollback',
  'promote',
  'disable',
  'enable',
  'add',
  'remove',
] as const

/** Returns the decider for a person who decides now. */
export function byPerson(who: string | undefined, now: Date): Decider {
  return { at: now.toISOString(), by: 'person', who }
}

/**
 * Returns the history with one more decision: what was decided in 90 days, and of that the latest thousand of people, and
 * the latest hundred of scans and of hubs, which can decide about any number of skills at once.
 */
export function withDecided(history: readonly Decided[], decided: Decided): readonly Decided[] {
  const since = Date.parse(decided.at) - KEPT_MS
  const alike = history.filter(({ by }) => by === decided.by)
  const oldest = alike.length < (decided.by === 'person' ? MOST_OF_PEOPLE : MOST_OF_OTHERS) ? undefined : alike[0]
  return [...history.filter((one) => one !== oldest && Date.parse(one.at) >= since), decided]
}

const KEPT_MS = 90 * 86_400_000
const MOST_OF_PEOPLE = 1_000
const MOST_OF_OTHERS = 100
