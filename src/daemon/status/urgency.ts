import { isByChoice, isPassing } from '../../sync/model/sync-error.ts'
import type { SourceStatus } from './status.ts'

/**
 * The attention that a source needs. `person`: it stays as it is until the operator acts. `retried`: it may resolve by
 * itself. `chosen`: the operator wants it this way.
 */
export type Urgency = 'person' | 'retried' | 'chosen' | 'well'

/** The most urgent first. */
export const URGENCIES: readonly Urgency[] = ['person', 'retried', 'chosen', 'well']

export function urgencyOf({ condition, decision, lastSuccess, tally, mismatched }: SourceStatus, now: Date): Urgency {
  if (condition !== undefined && !isByChoice(condition.code)) {
    if (!isPassing(condition.code) || isOld(lastSuccess, now)) return 'person'
    return 'retried'
  }
  // Such a skill comes back when its server is repaired, or when the operator has its files read again.
  if (tally.pending > 0 || mismatched.count > 0) return 'person'
  return condition !== undefined || isKept(decision) ? 'chosen' : 'well'
}

/** True if the served commit is the one that upstream was last seen to have, at the same address. */
export function isUpToDate({ served, upstream }: SourceStatus): boolean {
  return upstream !== undefined && served?.commit === upstream.commit && served.url === undefined
}

/** True if the configuration names the served commit itself: there is no ref to query upstream for. */
export function isFixed({ ref, served }: SourceStatus): boolean {
  return ref !== undefined && served !== undefined && ref.toLowerCase() === served.commit
}

/** True if the operator keeps it from moving. */
export function isKept({ paused, frozen }: SourceStatus['decision']): boolean {
  return paused === true || frozen !== undefined
}

/** A failure that lasts longer than a day does not resolve by itself. */
function isOld(lastSuccess: string | undefined, now: Date): boolean {
  return lastSuccess !== undefined && now.getTime() - Date.parse(lastSuccess) > PATIENCE_MS
}

const PATIENCE_MS = 86_400_000
