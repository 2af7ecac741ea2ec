import { isByChoice, isPassing } from '../../sync/model/sync-error.ts'
import type { SourceStatus } from './status.ts'

/**
 * What a source wants of the one who looks. `person`: nothing becomes of it unless somebody does something. `retried`: it may
 * pass by itself. `chosen`: somebody wants it as it is.
 */
export type Urgency = 'person' | 'retried' | 'chosen' | 'well'

/** The most urgent first. */
export const URGENCIES: readonly Urgency[] = ['person', 'retried', 'chosen', 'well']

export function urgencyOf({ condition, decision, lastSuccess, tally, mismatched }: SourceStatus, now: Date): Urgency {
  if (condition !== undefined && !isByChoice(condition.code)) {
    if (!isPassing(condition.code) || isOld(lastSuccess, now)) return 'person'
    return 'retried'
  }
  // Such a skill comes back when its server mends itself, or when somebody has its files read again.
  if (tally.pending > 0 || mismatched.count > 0) return 'person'
  return condition !== undefined || isKept(decision) ? 'chosen' : 'well'
}

/** Whether what is served is what its place was last seen to have: the two commits that prove it. */
export function isUpToDate({ served, upstream }: SourceStatus): boolean {
  return upstream !== undefined && served?.commit === upstream.commit && served.url === undefined
}

/** Whether the configuration names the very commit that is served: there is no ref that upstream could be asked for. */
export function isFixed({ ref, served }: SourceStatus): boolean {
  return ref !== undefined && served !== undefined && ref.toLowerCase() === served.commit
}

/** Whether somebody keeps it from moving. */
export function isKept({ paused, frozen }: SourceStatus['decision']): boolean {
  return paused === true || frozen !== undefined
}

/** What has not passed within a day does not pass by itself. */
function isOld(lastSuccess: string | undefined, now: Date): boolean {
  return lastSuccess !== undefined && now.getTime() - Date.parse(lastSuccess) > PATIENCE_MS
}

const PATIENCE_MS = 86_400_000
