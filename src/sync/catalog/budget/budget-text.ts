import { firstFew } from '../../../base/text/first-few.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { BudgetSummary, ClientBudget } from './budget-summary.ts'
import type { BudgetAllowance } from './client-rules.ts'

/** The lines for people about a budget: one for each client, and the first overlaps. Names are not escaped. */
export function budgetLines(summary: BudgetSummary): string[] {
  return [...summary.clients.map(clientLine), ...overlapLines(summary)]
}

/** The costs in all clients, in one line. */
export function shortBudgetText({ clients }: BudgetSummary): string {
  return clients.map((one) => [`${one.client} ${costText(one)} (${one.of})`, ...lossesIn(one)].join(', ')).join('; ')
}

/**
 * True if a client leaves something out with the model that it uses by default, or under the terms that were asked for:
 * over its limit, or because a description is longer than it takes.
 */
export function leavesOut({ clients }: Pick<BudgetSummary, 'clients'>): boolean {
  return clients.some(({ role, affected }) => role !== 'smaller' && affected.length > 0)
}

/** The lines about the first pairs of descriptions that overlap. */
export function overlapLines({ overlaps, allOverlaps }: Pick<BudgetSummary, 'overlaps' | 'allOverlaps'>): string[] {
  const lines = firstFew(overlaps, SHOWN_PAIRS).map(
    ({ a, b, likeness }) => `overlap: ${a.id} and ${b.id} share ${percentOf(likeness)} % of their words`,
  )
  const left = overlaps.length - lines.length
  if (left === 0)
    return allOverlaps ? lines : [...lines, 'overlap: there may be other pairs; the search ended at a limit']
  return [...lines, `overlap: ${left}${allOverlaps ? '' : ' or more'} other pairs`]
}

/** The line about one client, with the first skills that are not shown whole. */
function clientLine(budget: ClientBudget): string {
  const { client, allowance, full, skills, visibility, affected } = budget
  const tokens = allowance.unit === 'tokens' ? '' : `, about ${countOf(full.tokens, 'token')}`
  const head = `${client}, ${budget.of}: ${costText(budget)}${tokens}`
  const losses = lossesIn(budget)
  if (losses.length === 0) return `${head}; every description is listed`
  const names = affected.slice(0, SHOWN_NAMES).map(({ id }) => id)
  const left = skills - visibility.whole - names.length
  return `${head}; ${losses.join(', ')}: ${names.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

/** A cost and the allowance that it is compared with. */
export function costText({ cost, allowance }: { readonly cost: number; readonly allowance: BudgetAllowance }): string {
  return `${cost} of ${countOf(allowance.limit, allowance.unit.slice(0, -1))}`
}

function lossesIn({ visibility }: ClientBudget): string[] {
  return LOSSES.flatMap(([loss, text]) => (visibility[loss] === 0 ? [] : [`${visibility[loss]} ${text}`]))
}

/** Rounded down: a part of the words is never 100 %. */
function percentOf(likeness: number): number {
  return Math.floor(likeness * 100 + 1e-9)
}

const LOSSES = [
  ['omitted', 'not listed'],
  ['name-only', 'without description'],
  ['shortened', 'shortened'],
] as const

/** As many as fit on a line with the rest. */
const SHOWN_NAMES = 3
const SHOWN_PAIRS = 5
