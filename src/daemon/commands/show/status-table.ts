import { agoText, dueText } from '../../../base/text/age-text.ts'
import type { Urgency } from '../../../sync/model/item.ts'
import { byState, stateText } from '../../../sync/model/verdict/verdict.ts'
import type { Paint } from '../../cli/colors.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { sourceItem } from '../../status/items.ts'
import { isFollowed } from '../../status/lock-text.ts'
import { isFixed, isKept, isUpToDate } from '../../status/source-facts.ts'
import type { SourceProblem, SourceStatus } from '../../status/status.ts'
import { isUrgent, mendLine, verdictLine } from './status-block.ts'

export interface TableLook {
  readonly now: Date
  /** The width of the terminal. */
  readonly columns: number
  readonly paint: Paint
}

/** One line for each source, in the given order. Each kind of problem is explained in full once. */
export function tableOf(sources: readonly SourceStatus[], look: TableLook): string[] {
  const { now, columns, paint } = look
  const rows = sources.map((source) => ({
    source,
    urgency: sourceItem(source, now).urgency,
    cells: cellsOf(source, look),
  }))
  const widths = widthsOf([HEAD, ...rows.map(({ cells }) => cells)], columns)
  const lines = [paint('dim', `  ${lineOf(HEAD, widths)}`)]
  const told = new Set<string>()
  for (const { source, urgency, cells } of rows) {
    lines.push(paintLine(`${MARKS[urgency]} ${lineOf(cells, widths)}`, urgency, paint))
    const { problem } = source
    if (problem === undefined || !URGENT.has(urgency) || told.has(problem.fix)) continue
    told.add(problem.fix)
    lines.push(...reasonOf(problem, columns))
  }
  return lines
}

/** The name column shrinks, because all others are short and show the state. */
function widthsOf(rows: readonly (readonly string[])[], columns: number): number[] {
  const [name = 0, ...others] = HEAD.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  const taken = others.reduce((sum, width) => sum + width + GAP.length, MARK_COLUMNS)
  return [Math.max(LEAST_NAME, Math.min(name, columns - taken)), ...others]
}

const HEAD = ['SOURCE', 'SKILLS', 'SERVES', 'UPSTREAM', 'STATE', 'POLLED', 'NEXT'] as const
const GAP = '  '
const MARK_COLUMNS = 2
const LEAST_NAME = 8
const MARKS: Readonly<Record<Urgency, string>> = { person: '!', retried: '~', chosen: '-', well: ' ' }
const URGENT: ReadonlySet<Urgency> = new Set<Urgency>(['person', 'retried'])
const COLOURS = { person: 'red', retried: 'yellow', chosen: 'dim' } as const

function paintLine(line: string, urgency: Urgency, paint: Paint): string {
  return urgency === 'well' ? line : paint(COLOURS[urgency], line)
}

function cellsOf(source: SourceStatus, { now, columns }: TableLook): readonly string[] {
  const { id, tally, served, upstream, nextPoll, lookingSince } = source
  const digits = columns < WIDE ? 7 : 12
  const next = nextPoll === undefined ? '-' : dueText(nextPoll, now)
  return [
    id,
    skillsText(tally),
    served?.commit.slice(0, digits) ?? '-',
    upstream?.commit.slice(0, digits) ?? '-',
    sourceStateText(source),
    upstream === undefined ? 'never' : agoText(upstream.at, now),
    lookingSince === undefined ? next : 'fetching',
  ]
}

const WIDE = 100

/** The skills that are served, of all: one number if that is the same. */
function skillsText({ seen, served, partly }: SourceStatus['tally']): string {
  return served + partly === seen ? String(seen) : `${served + partly}/${seen}`
}

/** Each skill that is not simply served, with the reason and its fix; at most so many. */
export function skillLinesOf(sources: readonly SourceStatus[]): string[] {
  const verdicts = byState(sources.flatMap((source) => source.verdicts.filter(isUrgent)))
  const left = verdicts.length - MOST_SKILLS
  const more = left > 0 ? [`  ${left} more; skillsyncd list shows all`] : []
  return [...verdicts.slice(0, MOST_SKILLS).flatMap((verdict) => verdictLine(verdict)), ...more]
}

const MOST_SKILLS = 10

/**
 * "Up to date" appears only with the two commits that prove it, and not if the operator keeps the source from moving.
 */
function sourceStateText(source: SourceStatus): string {
  const { served, upstream, lastAttempt, problem, decision, tally, mismatched } = source
  if (problem !== undefined) return problem.code
  if (served === undefined) return lastAttempt === undefined ? 'never pulled' : 'nothing served'
  if (isKept(decision)) return 'held'
  if (mismatched > 0) return 'content-mismatch'
  if (tally.waiting > 0) return `${tally.waiting} ${stateText('waiting')}`
  if (isFixed(source)) return 'fixed'
  if (isUpToDate(source)) return 'up to date'
  if (isFollowed(source.lock)) return 'locked'
  return upstream === undefined ? 'not queried yet' : 'behind'
}

function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const fitted = widths.map((width, column) => cutTo(cells[column] ?? '', width).padEnd(width))
  return fitted.join(GAP).trimEnd()
}

function cutTo(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`
}

function reasonOf(problem: SourceProblem, columns: number): string[] {
  return [
    ...wrap(printableLine(problem.message), '    ', '    ', columns),
    ...wrap(mendLine(problem), '    → ', '      ', columns),
  ]
}

/** Wraps at whole words, so that commands and addresses can be copied. A word longer than a line stays whole too. */
function wrap(text: string, first: string, next: string, columns: number): string[] {
  const lines: string[] = []
  let line = first
  for (const word of text.split(' ')) {
    const isEmpty = line === first || line === next
    if (!isEmpty && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = next + word
    } else line += isEmpty ? word : ` ${word}`
  }
  return [...lines, line]
}
