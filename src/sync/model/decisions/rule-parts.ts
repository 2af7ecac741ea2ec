import type { Namings } from '../uris/named-uris.ts'
import type { Approvals } from './approvals.ts'
import { decisionsOf, type Decisions } from './decisions.ts'
import type { OutOfService } from './out-of-service.ts'
import { isWithdrawal, type Rule } from './rules.ts'

/** The rules, as readers ask for them. */
export interface RuleParts {
  readonly rules: readonly Rule[]
  readonly sources: Decisions
  readonly outOfService: OutOfService
  readonly approvals: Approvals
  readonly namings: Namings
}

/** Parts the rules. A part none of whose rules has changed is the same list as before: what was derived from it counts. */
export function rulesInParts(rules: readonly Rule[], before?: RuleParts): RuleParts {
  if (before?.rules === rules) return before
  const approvals = rules.filter((rule) => rule.effect === 'admit')
  return {
    rules,
    sources: decisionsOf(rules),
    outOfService: unlessSame(rules.filter(isWithdrawal), before?.outOfService),
    approvals: unlessSame(approvals, before?.approvals),
    namings: rules.filter((rule) => rule.effect === 'name'),
  }
}

function unlessSame<One>(now: readonly One[], before: readonly One[] = []): readonly One[] {
  return now.length === before.length && now.every((one, at) => one === before[at]) ? before : now
}

/** The rules after a change of those that keep skills out of service; the same list if it changes none. */
export function withOut(rules: readonly Rule[], change: (out: OutOfService) => OutOfService): readonly Rule[] {
  const before = rules.filter(isWithdrawal)
  const after = change(before)
  return after === before ? rules : [...rules.filter((rule) => !isWithdrawal(rule)), ...after]
}
