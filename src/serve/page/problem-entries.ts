import { countOf } from '../../base/text/plural.ts'
import type { Item, ItemProblem } from '../../sync/model/item.ts'
import { isNoSkill } from '../../sync/model/verdict/verdict.ts'
import type { VerdictState } from '../../sync/model/verdict/verdict.ts'
import type { MisfitDiagnostic, PageHost, PathProblems, SourceHealth } from './page-data.ts'
import { troubleOf } from './source-trouble.ts'

/** An entry of the page. */
export type ProblemEntry =
  | { readonly kind: 'item'; readonly item: Item; readonly problem: ItemProblem }
  | { readonly kind: 'source'; readonly health: SourceHealth }
  | { readonly kind: 'misfit'; readonly misfit: MisfitDiagnostic }
  | { readonly kind: 'skill'; readonly problem: PathProblems }

/** The action that an entry needs, in the order of the page. */
export const ACTIONS = ['hub', 'source', 'decide', 'content', 'retried', 'decided', 'none'] as const
export type ProblemAction = (typeof ACTIONS)[number]

/** The parts of the host from which the entries are made. */
type Judged = Pick<PageHost, 'items' | 'sources' | 'misfits' | 'problems'>

/** Returns the entries of one source, or of all if `source` is empty, in the order of the page. */
export function entriesIn(host: Judged, source: string): readonly ProblemEntry[] {
  const isOf = (id: string | undefined): boolean => source === '' || id === source
  const listed = host.sources().filter((health) => isOf(health.id) && isListed(health))
  const misfits = host.misfits().filter(({ skills }) => source === '' || skills.some((skill) => isOf(skill.source)))
  const problems = host.problems().filter((problem) => isOf(problem.source))
  const entries = [
    ...host.items().flatMap((item) => (isOf(item.source) ? entriesOf(item) : [])),
    ...listed.map((health): ProblemEntry => ({ kind: 'source', health })),
    ...misfits.map((misfit): ProblemEntry => ({ kind: 'misfit', misfit })),
    ...problems.map((problem): ProblemEntry => ({ kind: 'skill', problem })),
  ]
  const by = Map.groupBy(entries, actionOf)
  return ACTIONS.flatMap((action) => by.get(action) ?? [])
}

/** A source has entries of its own, but for the address to which it moved. */
function entriesOf(item: Item): readonly ProblemEntry[] {
  const problems = item.problems.filter(({ code }) => item.kind !== 'source' || code === 'source-moved')
  return problems.map((problem) => ({ kind: 'item', item, problem }))
}

/** Returns the action that an entry needs. */
export function actionOf(entry: ProblemEntry): ProblemAction {
  switch (entry.kind) {
    case 'item':
      return OF_URGENCY[entry.item.urgency]
    case 'source':
      return OF_TROUBLE[troubleOf(entry.health) ?? 'none']
    case 'misfit':
      return 'content'
    case 'skill':
      return ofSkill(entry.problem)
    default:
      return entry satisfies never
  }
}

const OF_URGENCY = { person: 'hub', retried: 'retried', chosen: 'decided', well: 'none' } as const

const OF_TROUBLE = {
  failing: 'source',
  retried: 'retried',
  waiting: 'decide',
  attention: 'decided',
  none: 'decided',
} as const

function ofSkill(problem: PathProblems): ProblemAction {
  if (problem.state === undefined) return 'content'
  return isNoSkill(problem) ? 'none' : OF_STATE[problem.state]
}

const OF_STATE: Readonly<Record<VerdictState, ProblemAction>> = {
  withheld: 'content',
  partly: 'content',
  waiting: 'decide',
  disabled: 'decided',
  served: 'none',
}

/** Returns the number of entries that need an action. */
export function problemCount(host: Judged): number {
  return entriesIn(host, '').filter(isProblem).length
}

function isProblem(entry: ProblemEntry): boolean {
  return !NO_PROBLEMS.has(actionOf(entry))
}

const NO_PROBLEMS: ReadonlySet<ProblemAction> = new Set<ProblemAction>(['retried', 'decided', 'none'])

/**
 * An operator's decision is listed too, with the command that reverts it. A skill or an address that needs a person has an
 * entry of its own.
 */
function isListed(health: SourceHealth): boolean {
  const trouble = troubleOf(health)
  return health.problem !== undefined || (trouble !== undefined && trouble !== 'attention')
}

/** Formats the numbers of problems, of what is tried again, of decisions and notes. */
export function countText(entries: readonly ProblemEntry[]): string {
  const problems = entries.filter(isProblem).length
  const retried = entries.filter((entry) => actionOf(entry) === 'retried').length
  const numbers = [
    problems === 0 ? 'No problems' : countOf(problems, 'problem'),
    ...(retried === 0 ? [] : [`${retried} tried again`]),
    ...numberOf(entries, 'decided', 'decision'),
    ...numberOf(entries, 'none', 'note'),
  ]
  return numbers.join(', ')
}

function numberOf(entries: readonly ProblemEntry[], action: ProblemAction, what: string): string[] {
  const count = entries.filter((entry) => actionOf(entry) === action).length
  return count === 0 ? [] : [countOf(count, what)]
}
