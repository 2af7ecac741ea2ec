import type { BudgetSkill } from './budget-skill.ts'
import { PRESENT_CLIENTS, SMALL_WINDOW } from './client-rules.ts'
import type { BudgetAllowance, BudgetClient } from './client-rules.ts'
import { contextBudget } from './context-budget.ts'
import type { BudgetTerms, Visibility, SkillVisibility, ListingSize } from './context-budget.ts'
import { overlapsIn } from './overlaps.ts'
import type { Overlap } from './overlaps.ts'

/** The context budget of a set of skills, as plain data: the `budget` of `--json`. */
export interface BudgetSummary {
  /** The number of skills that any client lists. */
  readonly skills: number
  readonly clients: readonly ClientBudget[]
  /** Pairs of skills with nearly the same description, the most alike first. */
  readonly overlaps: readonly Overlap[]
  /** False if there may be more overlaps: the search has limits. */
  readonly allOverlaps: boolean
}

/** The listing of the skills in one client. */
export interface ClientBudget {
  readonly client: BudgetClient
  /** The assumed context window in tokens; null for that of the client's default model. */
  readonly window: number | null
  readonly allowance: BudgetAllowance
  /** The cost of the whole listing, in the unit of the allowance. */
  readonly cost: number
  /** The number of skills in the listing. */
  readonly skills: number
  readonly full: ListingSize
  readonly shown: ListingSize
  /** The numbers of skills by their visibility. */
  readonly visibility: Readonly<Record<Visibility, number>>
  /** The skills that are not shown whole, in the order of the listing; the first `MOST_AFFECTED` of them. */
  readonly affected: readonly SkillVisibility[]
}

/** The default models of the present clients, and the smaller ones of Claude Code. */
const PRESENT_TERMS: readonly BudgetTerms[] = [
  ...PRESENT_CLIENTS.map((client) => ({ client })),
  { client: 'claude-code', window: SMALL_WINDOW },
]

/** The context budget of these skills. Without terms: that of each present client with its usual models. */
export function budgetSummary(
  skills: readonly BudgetSkill[],
  terms: readonly BudgetTerms[] = PRESENT_TERMS,
): BudgetSummary {
  // Between skills of which a model chooses.
  const { pairs, isComplete } = overlapsIn(skills.filter(({ isForPeople }) => isForPeople !== true))
  return {
    skills: skills.length,
    clients: terms.map((one) => clientBudget(skills, one)),
    overlaps: pairs,
    allOverlaps: isComplete,
  }
}

function clientBudget(skills: readonly BudgetSkill[], terms: BudgetTerms): ClientBudget {
  const { client, window = null, allowance, cost, full, shown, skills: listed } = contextBudget(skills, terms)
  const affected = listed.filter(({ visibility }) => visibility !== 'whole')
  return {
    client,
    window,
    allowance,
    cost,
    skills: listed.length,
    full,
    shown,
    visibility: countVisibility(listed),
    affected: affected.slice(0, MOST_AFFECTED),
  }
}

/** More rows help no reader, and a catalog can have a hundred thousand skills. */
const MOST_AFFECTED = 1_000

function countVisibility(listed: readonly SkillVisibility[]): Record<Visibility, number> {
  const counts: Record<Visibility, number> = { whole: 0, shortened: 0, 'name-only': 0, omitted: 0 }
  for (const { visibility } of listed) counts[visibility] += 1
  return counts
}
