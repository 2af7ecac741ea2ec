import { countOf } from '../../base/text/plural.ts'
import type { HubDiagnostic, MisfitDiagnostic, PageHost, PathDiagnostics, SourceHealth } from './page-data.ts'
import { troubleOf } from './source-trouble.ts'

/** An entry of the page. The kinds are in the order of the page. */
export type ProblemEntry =
  | { readonly kind: 'alarm'; readonly alarm: HubDiagnostic }
  | { readonly kind: 'source'; readonly health: SourceHealth }
  | { readonly kind: 'misfit'; readonly misfit: MisfitDiagnostic }
  | { readonly kind: 'skill'; readonly problem: PathDiagnostics }

/** Returns the entries of one source, or of all if `source` is empty. */
export function entriesIn(host: PageHost, source: string): readonly ProblemEntry[] {
  const isOf = (id: string | undefined): boolean => source === '' || id === source
  const failing = host.sources().filter((health) => isOf(health.id) && isListed(health))
  const misfits = host.misfits().filter(({ skills }) => source === '' || skills.some((skill) => isOf(skill.source)))
  const problems = host.problems().filter((problem) => isOf(problem.source))
  return [
    ...host.alarms().flatMap((alarm): ProblemEntry[] => (isOf(alarm.source) ? [{ kind: 'alarm', alarm }] : [])),
    ...failing.map((health): ProblemEntry => ({ kind: 'source', health })),
    ...misfits.map((misfit): ProblemEntry => ({ kind: 'misfit', misfit })),
    ...problems.map((problem): ProblemEntry => ({ kind: 'skill', problem })),
  ]
}

/** The number of entries that are more than notes. */
export function problemCount(host: PageHost): number {
  return entriesIn(host, '').filter(isProblem).length
}

function isProblem(entry: ProblemEntry): boolean {
  if (entry.kind === 'source') return troubleOf(entry.health) !== undefined
  return entry.kind !== 'skill' || (entry.problem.standing !== 'noted' && entry.problem.standing !== 'link')
}

/** An operator's decision is listed too, with the command that reverts it. */
function isListed(health: SourceHealth): boolean {
  return health.condition !== undefined || troubleOf(health) !== undefined
}

/** Formats the numbers of problems and notes. */
export function countText(entries: readonly ProblemEntry[]): string {
  const problems = entries.filter(isProblem).length
  const notes = entries.length - problems
  const noted = notes === 0 ? '' : `, ${countOf(notes, 'note')}`
  return `${problems === 0 ? 'No problems' : countOf(problems, 'problem')}${noted}`
}
