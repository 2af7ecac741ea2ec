import { leavesOut, overlapLines, shortBudgetText } from '../../../sync/catalog/budget/budget-text.ts'
import type { CatalogBudget, PackBudget } from '../../../sync/catalog/budget/catalog-budget.ts'
import type { Paint } from '../../cli/colors.ts'
import { printableLine } from '../../runtime/log/log-line.ts'

/** The lines of a status about the context budget: one for all skills and one for each pack, with what is left out. */
export function budgetStatusLines(
  budget: CatalogBudget | undefined,
  { all, paint }: { readonly all: boolean; readonly paint: Paint },
): string[] {
  if (budget === undefined || budget.skills === 0) return []
  const packs = all ? budget.packs : mostPressing(budget.packs)
  const lines = [budget, ...packs].map((one) => {
    const text = printableLine(`  ${nameOf(one)}: ${shortBudgetText(one)}`)
    return leavesOut(one) ? paint('yellow', text) : text
  })
  const left = budget.packs.length - packs.length
  return [
    '',
    'Context budget of agents:',
    ...lines,
    ...(left > 0 ? [`  ${left} more packs; --findings shows them`] : []),
    ...([budget, ...budget.packs].some(leavesOut) ? [`  ${NEXT_STEP}`] : []),
    ...overlapLines(budget).map((line) => `  - ${printableLine(line)}`),
  ]
}

const NEXT_STEP =
  'status --json names each skill that loses its description; shorten descriptions, skillsyncd disable SKILL, or serve fewer in a pack'

/** Those with losses come first; the rest have the order of the configuration. */
function mostPressing(packs: readonly PackBudget[]): readonly PackBudget[] {
  return packs.toSorted((a, b) => Number(leavesOut(b)) - Number(leavesOut(a))).slice(0, SHOWN_PACKS)
}

/** As many as fit on a screen with the rest. */
const SHOWN_PACKS = 5

function nameOf(one: CatalogBudget | PackBudget): string {
  return 'pack' in one ? `pack ${one.pack}` : 'all skills'
}
