import { randomUUID } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction, runOnDatabase } from '../../sync/store/objects/database.ts'
import type { UsageCount, UsageKey } from './usage-counts.ts'

/** Counts that the database of a hub gets as one. The id stays the same until it has them. */
export interface UsageBatch {
  readonly id: string
  readonly rows: readonly UsageCount[]
}

/**
 * The counts of one process that the database of its hub lacks. They are on the disk, so that neither a kill nor a database
 * that is away loses or doubles one: a batch is set aside with its id before it is sent, and removed when it has arrived.
 * There are no more rows than the counts themselves have.
 */
export class UnsharedCounts {
  readonly #database: DatabaseSync
  readonly #add: StatementSync

  /** Makes the tables if they are not there: a hub of one process has none. */
  constructor(database: DatabaseSync) {
    this.#database = database
    database.exec(SCHEMA)
    this.#add = database.prepare(ADD)
  }

  /** Adds to what waits, within the transaction of the caller. */
  add({ day, skill, pack, client, principal }: UsageKey, { lists, loads, reads, failures }: UsageCount): void {
    this.#add.run(day, skill, pack, client, principal, lists, loads, reads, failures)
  }

  /** Returns the batch that was set aside, or else sets one aside; `undefined` if nothing waits. */
  next(): UsageBatch | undefined {
    return runOnDatabase('read the counts of use', () =>
      inTransaction(this.#database, () => this.#aside() ?? this.#setAside()),
    )
  }

  /** Removes the batch with this id: the database of the hub has it. Another one that was set aside since stays. */
  arrived(id: string): void {
    runOnDatabase('write the counts of use', () =>
      this.#database.prepare('DELETE FROM use_sent WHERE batch = ?').run(id),
    )
  }

  #setAside(): UsageBatch | undefined {
    this.#database.prepare(SET_ASIDE).run(randomUUID(), MOST_ROWS)
    this.#database.exec(REMOVE_SET_ASIDE)
    return this.#aside()
  }

  #aside(): UsageBatch | undefined {
    const rows = this.#database.prepare('SELECT * FROM use_sent ORDER BY day, skill, pack, client, principal').all()
    const id = rows[0]?.['batch']
    return typeof id === 'string' ? { id, rows: rows.map(countIn) } : undefined
  }
}

function countIn(row: Readonly<Record<string, unknown>>): UsageCount {
  const text = (name: keyof UsageKey): string => String(row[name])
  const number = (name: 'lists' | 'loads' | 'reads' | 'failures'): number => Number(row[name])
  return {
    day: text('day'),
    skill: text('skill'),
    pack: text('pack'),
    client: text('client'),
    principal: text('principal'),
    lists: number('lists'),
    loads: number('loads'),
    reads: number('reads'),
    failures: number('failures'),
  }
}

/** The rows of one batch; some hundred kilobytes. */
const MOST_ROWS = 2_000

const COLUMNS = 'day, skill, pack, client, principal, lists, loads, reads, failures'

/** The columns of counts, in each table of them. */
export const COUNT_COLUMNS = `
    day TEXT NOT NULL,
    skill TEXT NOT NULL,
    pack TEXT NOT NULL,
    client TEXT NOT NULL,
    principal TEXT NOT NULL,
    lists INTEGER NOT NULL,
    loads INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    failures INTEGER NOT NULL`

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS use_unshared (${COUNT_COLUMNS},
    PRIMARY KEY (day, skill, pack, client, principal)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS use_sent (batch TEXT NOT NULL,${COUNT_COLUMNS}) STRICT;
`

const ADD = `
  INSERT INTO use_unshared (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, skill, pack, client, principal) DO UPDATE SET
    lists = lists + excluded.lists, loads = loads + excluded.loads, reads = reads + excluded.reads,
    failures = failures + excluded.failures`

const SET_ASIDE = `INSERT INTO use_sent (batch, ${COLUMNS}) SELECT ?, ${COLUMNS} FROM use_unshared LIMIT ?`

const REMOVE_SET_ASIDE = `
  DELETE FROM use_unshared WHERE (day, skill, pack, client, principal) IN (
    SELECT day, skill, pack, client, principal FROM use_sent)`
