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
  readonly role: BudgetRole
  /** The assumed context window in tokens; null for that of the client's default model, or for a number of characters. */
  readonly window: number | null
  /** The words for the model, or the number, that the allowance is of. */
  readonly of: string
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

/** `limit`: terms that were asked for. `default`: the client's default model. `smaller`: another model, for information. */
export type BudgetRole = 'limit' | 'default' | 'smaller'

/** The default models of the present clients, and the smaller ones of Claude Code. */
const PRESENT_TERMS: readonly BudgetTerms[] = [
  ...PRESENT_CLIENTS.map((client) => ({ client })),
  { client: 'claude-code', window: SMALL_WINDOW },
]

/**
 * The context budget of these skills under the terms that were asked for. Without them: that of each present client with
 * its usual models. A number of characters says nothing of a model: the usual ones of its client follow it.
 */
export function budgetSummary(skills: readonly BudgetSkill[], asked: readonly BudgetTerms[] = []): BudgetSummary {
  const usual = PRESENT_TERMS.filter(
    ({ client }) => asked.length === 0 || asked.some((one) => one.characters !== undefined && one.client === client),
  )
  // Between skills of which a model chooses.
  const { pairs, isComplete } = overlapsIn(skills.filter(({ isForPeople }) => isForPeople !== true))
  return {
    skills: skills.length,
    clients: [
      ...asked.map((terms) => clientBudget(skills, terms, 'limit')),
      ...usual.map((terms) => clientBudget(skills, terms, terms.window === undefined ? 'default' : 'smaller')),
    ],
    overlaps: pairs,
    allOverlaps: isComplete,
  }
}

function clientBudget(skills: readonly BudgetSkill[], terms: BudgetTerms, role: BudgetRole): ClientBudget {
  const { client, window = null, allowance, cost, full, shown, skills: listed } = contextBudget(skills, terms)
  const affected = listed.filter(({ visibility }) => visibility !== 'whole')
  return {
    client,
    role,
    window,
    of: termsText(terms),
    allowance,
    cost,
    skills: listed.length,
    full,
    shown,
    visibility: countVisibility(listed),
    affected: affected.slice(0, MOST_AFFECTED),
  }
}

/** The model, or the number, that a figure is for. */
export function termsText({ client, window, characters, list }: BudgetTerms): string {
  if (characters !== undefined) return 'for these skills alone'
  if (list !== undefined) return `of a list of ${list}`
  if (window !== undefined) return `with ${window} tokens`
  return client === 'claude-code-2.0' ? 'any model' : 'default model'
}

/** More rows help no reader, and a catalog can have a hundred thousand skills. */
const MOST_AFFECTED = 1_000

function countVisibility(listed: readonly SkillVisibility[]): Record<Visibility, number> {
  const counts: Record<Visibility, number> = { whole: 0, shortened: 0, 'name-only': 0, omitted: 0 }
  for (const { visibility } of listed) counts[visibility] += 1
  return counts
}
