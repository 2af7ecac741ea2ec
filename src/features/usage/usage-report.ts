import type { DatabaseSync } from 'node:sqlite'
import { NONE, WHOLE } from '../../serve/view.ts'
import { runOnDatabase } from '../../sync/store/objects/database.ts'
import { dayBefore } from './usage-database.ts'

/** The dimensions by which counts can be added up. */
const DIMENSIONS = ['skill', 'pack', 'client', 'principal', 'day'] as const
export type Dimension = (typeof DIMENSIONS)[number]

export function isDimension(text: string): text is Dimension {
  return DIMENSIONS.some((dimension) => dimension === text)
}

/** Days in UTC, both included. */
export interface DaySpan {
  readonly from: string
  readonly to: string
}

/**
 * Counts, added up. `null`: for `skill`, lists, which show all skills of a view; for `pack`, everything, in packs or not;
 * for `principal`, clients without a token, or days on which people were not counted.
 */
export type UsageRow = Readonly<Partial<Record<Dimension, string | null>>> & {
  readonly lists: number
  readonly loads: number
  readonly reads: number
  readonly failures: number
}

/** The days on which use was counted. */
export interface CountedDays {
  /** The first of all days; `null` if there is none. */
  readonly since: string | null
  /** The number of days of a span, after the first, on which no process counted. */
  readonly missing: number
}

/** Returns the counts of a span, the most loads first; in the order of days if these come first. */
export function usageRowsIn(database: DatabaseSync, { from, to }: DaySpan, by: readonly Dimension[]): UsageRow[] {
  const columns = by.join(', ')
  const order = by[0] === 'day' ? columns : `loads DESC, reads DESC, lists DESC, ${columns}`
  const rows = runOnDatabase('read the counts of use', () =>
    database
      .prepare(
        `SELECT ${columns}, sum(lists) AS lists, sum(loads) AS loads, sum(reads) AS reads, sum(failures) AS failures
         FROM use_of_day WHERE day BETWEEN ? AND ? GROUP BY ${columns} ORDER BY ${order}`,
      )
      .all(from, to),
  )
  return rows.map((row) => rowOf(row, by))
}

/** The row of a result with these dimensions and the sums. */
export function rowOf(row: Readonly<Record<string, unknown>>, by: readonly Dimension[]): UsageRow {
  const values = by.map((dimension) => [dimension, valueOf(dimension, String(row[dimension]))])
  const { lists, loads, reads, failures } = row
  const sums = { lists: Number(lists), loads: Number(loads), reads: Number(reads), failures: Number(failures) }
  return { ...Object.fromEntries(values), ...sums }
}

/** Returns the last day on which each skill was loaded or read, up to this one: a clock can have been set forward. */
export function lastUseOfSkills(database: DatabaseSync, to: string): ReadonlyMap<string, string> {
  const text = 'SELECT skill, max(day) AS day FROM use_of_day WHERE loads + reads > 0 AND day <= ? GROUP BY skill'
  const rows = runOnDatabase('read the counts of use', () => database.prepare(text).all(to))
  return new Map(rows.map((row) => [String(row['skill']), String(row['day'])]))
}

export function countedDaysIn(database: DatabaseSync, span: DaySpan): CountedDays {
  const rows = runOnDatabase('read the counts of use', () => database.prepare('SELECT day FROM counted_day').all())
  return countedDaysOf(
    rows.map((row) => String(row['day'])),
    span,
  )
}

/** The same of the days that were counted, in any order. */
export function countedDaysOf(counted: readonly string[], { from, to }: DaySpan): CountedDays {
  const days = counted.toSorted()
  const [since = null] = days
  if (since === null) return { since, missing: 0 }
  const first = since > from ? since : from
  const within = days.filter((day) => day >= first && day <= to).length
  return { since, missing: Math.max(0, daysFrom(first, to) - within) }
}

/** The span of so many milliseconds up to a day, in whole days. */
export function spanUpTo(to: string, ms: number): DaySpan {
  return { from: dayBefore(to, Math.max(0, Math.ceil(ms / DAY_MS) - 1)), to }
}

function daysFrom(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1
}

const DAY_MS = 86_400_000

function valueOf(dimension: Dimension, text: string): string | null {
  switch (dimension) {
    case 'skill':
    case 'principal':
      return text === '' ? null : text
    case 'pack':
      return text === WHOLE ? null : text === NONE ? 'none' : text.split(' ').join(',')
    case 'client':
    case 'day':
      return text
    default:
      return dimension satisfies never
  }
}
