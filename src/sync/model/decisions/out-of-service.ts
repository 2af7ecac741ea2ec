import type { SourceId } from '../source-id.ts'
import type { RecallRule, WithdrawnPlace, WithdrawRule } from './rules.ts'

/** The rules that keep skills out of service: those of people and scans here, and recalls of this hub and of others. */
export type OutOfService = readonly WithdrawRule[]

export const NOTHING_OUT: OutOfService = []

/** The skills that a catalog leaves out: their true folders, by source. */
export type Disabled = ReadonlyMap<SourceId, ReadonlySet<string>>

export const NONE_DISABLED: Disabled = new Map()

/** True for a rule that counts at all followers too. */
export function isRecall(rule: WithdrawRule): rule is RecallRule {
  return rule.reach === 'followers'
}

/** The rules for this hub alone. */
export function disabledHere(out: OutOfService): OutOfService {
  return out.filter((rule) => !isRecall(rule))
}

/** The recalls in force, the oldest first. */
export function activeRecalls(out: OutOfService): readonly RecallRule[] {
  return byAge(out.filter(isRecall)).filter(({ ended }) => ended === undefined)
}

export function byAge(recalls: readonly RecallRule[]): readonly RecallRule[] {
  return recalls.toSorted((a, b) => (a.at + a.id < b.at + b.id ? -1 : 1))
}

/** The place that a rule was made about; `undefined` for a recall of a digest that no source here has. */
export function firstPlace({ on }: WithdrawRule): WithdrawnPlace | undefined {
  return on.places[0]
}

/** True for a rule for this hub alone that was made about the skill at this place. */
export function isDecidedAt(rule: WithdrawRule, source: SourceId, path: string): boolean {
  const place = firstPlace(rule)
  return !isRecall(rule) && place?.source === source && place.path === path
}
