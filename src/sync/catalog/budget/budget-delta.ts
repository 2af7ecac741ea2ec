import type { BudgetSkill } from './budget-skill.ts'
import { PRESENT_CLIENTS } from './client-rules.ts'
import type { BudgetClient } from './client-rules.ts'
import { allowanceOf, listingCost } from './context-budget.ts'
import type { BudgetUnit } from './text-size.ts'

/** The change of the cost of a listing in one client. */
export interface BudgetDelta {
  readonly client: BudgetClient
  readonly unit: BudgetUnit
  readonly before: number
  readonly after: number
  /** The allowance of the client for all skills, with its default model. */
  readonly limit: number
}

/** The changes from one set of skills to another, in every present client; empty if no cost changes. */
export function budgetDeltas(before: readonly BudgetSkill[], after: readonly BudgetSkill[]): readonly BudgetDelta[] {
  return PRESENT_CLIENTS.flatMap((client) => {
    const { unit, limit } = allowanceOf({ client })
    const [was, is] = [listingCost(before, { client }), listingCost(after, { client })]
    return was === is ? [] : [{ client, unit, before: was, after: is, limit }]
  })
}

/** The changes in one line. */
export function deltaText(deltas: readonly BudgetDelta[]): string {
  return deltas
    .map(({ client, unit, before, after, limit }) => {
      const difference = after - before
      return `${client} ${difference > 0 ? '+' : ''}${difference} to ${after} of ${limit} ${unit} (default model)`
    })
    .join('; ')
}
