import { hash } from 'node:crypto'
import { contentKeyText } from '../../daemon/runtime/content-use.ts'
import type { ContentUse, SkillContent } from '../../daemon/runtime/content-use.ts'
import type { HubDatabase, PostgresDatabase } from '../../sync/postgres/postgres-database.ts'
import { contentUseIn } from './content-uses.ts'
import type { DatedContentUse } from './content-uses.ts'
import type { UsageReader } from './local-usage.ts'
import type { UsageBatch } from './unshared-counts.ts'
import { usageKeyText } from './usage-counts.ts'
import { dayBefore } from './usage-database.ts'
import type { UsageLimits } from './usage-database.ts'
import { countedDaysOf, rowOf } from './usage-report.ts'
import type { CountedDays, DaySpan, Dimension, UsageRow } from './usage-report.ts'

/** The counts of all processes of a hub, in their database. Each call throws `store-failed` if that cannot be used. */
export class SharedUsage implements UsageReader {
  readonly #store: HubDatabase

  constructor(store: HubDatabase) {
    this.#store = store
  }

  /** Adds a batch, and notes that the day was counted. A batch that is there already is not added again. */
  async add({ id, rows }: UsageBatch, today: string): Promise<void> {
    await this.note(today)
    const given = rows.map((row) => ({ ...row, key: hash('sha256', usageKeyText(row)) }))
    await this.#query('write the counts of use', ADD, [id, JSON.stringify(given)])
  }

  /** Sets the totals of contents in the database of one state folder. */
  async addContents(folder: string, rows: readonly DatedContentUse[]): Promise<void> {
    const given = rows.map((row) => ({ ...row, key: keyOf(row) }))
    await this.#query('write the counts of use', SET_CONTENTS, [folder, JSON.stringify(given)])
  }

  /** The uses of these contents by the clients of all processes. */
  async contentUses(wanted: readonly SkillContent[]): Promise<readonly ContentUse[]> {
    const rows = await this.#query(READING, CONTENTS, [JSON.stringify(wanted.map(keyOf))])
    return rows.map(contentUseIn)
  }

  /** Notes that the day was counted. */
  async note(today: string): Promise<void> {
    await this.#query('write the counts of use', NOTE, [today])
  }

  /** Removes the days beyond the limits, as `UsageDatabase` does, and the ids of old batches. */
  async prune(today: string, { days, rows: most }: UsageLimits): Promise<void> {
    const [noted] = await this.#query(READING, LAST_BEFORE, [today])
    const before: unknown = noted?.['day']
    const oldest = typeof before === 'string' ? dayBefore(before, days - 2) : ''
    const sizes = await this.#query(READING, SIZES, [today])
    let first = today
    let counted = 0
    for (const { day, size } of sizes) {
      counted += Number(size)
      if (counted > most) break
      first = String(day)
    }
    await this.#query('remove counts of use', REMOVE, [first > oldest ? first : oldest])
    await this.#query('remove counts of use', REMOVE_CONTENTS, [first > oldest ? first : oldest])
    await this.#query('remove counts of use', REMOVE_BATCHES)
  }

  /** The counts of a span, as `usageRowsIn` has those of one process. */
  async rows({ from, to }: DaySpan, by: readonly Dimension[]): Promise<UsageRow[]> {
    const columns = by.map((one) => `${one} COLLATE "C"`).join(', ')
    const order = by[0] === 'day' ? columns : `loads DESC, reads DESC, lists DESC, ${columns}`
    const text = `
      SELECT ${by.join(', ')}, sum(lists) AS lists, sum(loads) AS loads, sum(reads) AS reads,
        sum(failures) AS failures
      FROM skillsyncd.use_of_day WHERE day BETWEEN $1 AND $2 GROUP BY ${by.join(', ')} ORDER BY ${order}`
    return (await this.#query(READING, text, [from, to])).map((row) => rowOf(row, by))
  }

  /** The last day on which each skill was loaded or read, up to this one. */
  async lastUses(to: string): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#query(READING, LAST_USES, [to])
    return new Map(rows.map(({ skill, day }) => [String(skill), String(day)]))
  }

  async countedDays(span: DaySpan): Promise<CountedDays> {
    const rows = await this.#query(READING, 'SELECT day FROM skillsyncd.use_counted_day')
    return countedDaysOf(
      rows.map(({ day }) => String(day)),
      span,
    )
  }

  async #query(
    ...[attempt, text, values]: Parameters<PostgresDatabase['query']>
  ): ReturnType<PostgresDatabase['query']> {
    await this.#store.open()
    return this.#store.database.query(attempt, text, values)
  }
}

function keyOf(of: SkillContent): string {
  return hash('sha256', contentKeyText(of))
}

const READING = 'read the counts of use'

/** Rows are locked in one order, since two processes write at once. */
const ADD = `
  WITH batch AS (INSERT INTO skillsyncd.use_batch (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id)
  INSERT INTO skillsyncd.use_of_day AS kept (day, key, skill, pack, client, principal, lists, loads, reads, failures)
  SELECT day, decode(key, 'hex'), skill, pack, client, principal, lists, loads, reads, failures
  FROM batch, jsonb_to_recordset($2::jsonb) AS given (
    day text, key text, skill text, pack text, client text, principal text, lists bigint, loads bigint, reads bigint,
    failures bigint)
  ORDER BY day, key
  ON CONFLICT (day, key) DO UPDATE SET
    lists = kept.lists + excluded.lists, loads = kept.loads + excluded.loads, reads = kept.reads + excluded.reads,
    failures = kept.failures + excluded.failures`

const NOTE = 'INSERT INTO skillsyncd.use_counted_day (day) VALUES ($1) ON CONFLICT DO NOTHING'

const LAST_BEFORE = 'SELECT max(day) AS day FROM skillsyncd.use_counted_day WHERE day < $1'

const SIZES = `
  SELECT day, count(*) AS size FROM skillsyncd.use_of_day WHERE day < $1 GROUP BY day ORDER BY day DESC`

const REMOVE = `
  WITH days AS (DELETE FROM skillsyncd.use_counted_day WHERE day < $1)
  DELETE FROM skillsyncd.use_of_day WHERE day < $1`

/** A process that was stopped for longer, between the arrival of a batch and the answer, would add it again. */
const REMOVE_BATCHES = "DELETE FROM skillsyncd.use_batch WHERE at < clock_timestamp() - interval '90 days'"

const LAST_USES = `
  SELECT skill, max(day) AS day FROM skillsyncd.use_of_day WHERE loads + reads > 0 AND day <= $1 GROUP BY skill`

/**
 * The greater total counts: a process that has forgotten a content among the oldest, and uses it again, adds nothing until
 * it has counted more than before. Rows are locked in one order, since two processes of one folder write at once.
 */
const SET_CONTENTS = `
  INSERT INTO skillsyncd.content_use AS kept (key, folder, skill, content, uses, failures, day)
  SELECT decode(key, 'hex'), $1::uuid, skill, content, uses, failures, day
  FROM jsonb_to_recordset($2::jsonb) AS given (
    key text, skill text, content text, uses bigint, failures bigint, day text)
  ORDER BY key
  ON CONFLICT (key, folder) DO UPDATE SET
    uses = greatest(kept.uses, excluded.uses), failures = greatest(kept.failures, excluded.failures),
    day = greatest(kept.day, excluded.day)`

const CONTENTS = `
  SELECT skill, content, sum(uses) AS uses, sum(failures) AS failures FROM skillsyncd.content_use
  WHERE key IN (SELECT decode(value, 'hex') FROM jsonb_array_elements_text($1::jsonb))
  GROUP BY skill, content ORDER BY skill COLLATE "C", content COLLATE "C"`

const REMOVE_CONTENTS = 'DELETE FROM skillsyncd.content_use WHERE day < $1'
