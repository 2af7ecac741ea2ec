import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SQLOutputValue, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, runOnDisk } from '../../sync/store/files/disk-error.ts'
import { makeFolder } from '../../sync/store/files/state-folder.ts'
import { DatabaseFile } from '../../sync/store/objects/database-file.ts'
import { inTransaction, isCorruption, numberOf, runOnDatabase } from '../../sync/store/objects/database.ts'
import { CONTENT_TABLES, ContentUses } from './content-uses.ts'
import { isKnownClient } from './known-clients.ts'
import { COUNT_COLUMNS, UnsharedCounts } from './unshared-counts.ts'
import { MOST_PRINCIPALS, NO_PRINCIPAL, OTHER, boundedClient, boundedName, keyOfOthers } from './usage-counts.ts'
import type { UsageCount, UsageKey } from './usage-counts.ts'

/** The path of the database of counts in a state folder. Several processes may write it at the same time. */
export function usagePathIn(state: string): string {
  return join(state, 'usage', 'usage.db')
}

/** The limits of the rows on the disk. */
export interface UsageLimits {
  /** Rows of earlier days are removed. */
  readonly days: number
  /** Rows of the days before today. If there are more, the earliest days are removed. */
  readonly rows: number
}

/** Rows of one day. The last of them is that of `keyOfOthers`, for all uses that would need a further one. */
export const MOST_ROWS_OF_A_DAY = 100_000

/** The counts on the disk. Each transaction is short; each call throws `store-failed` if the disk refuses it. */
export class UsageDatabase implements Disposable {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #names = new Map<string, Set<string>>()
  /** The counts that the database of the hub lacks; `undefined` for a hub of one process. */
  readonly unshared: UnsharedCounts | undefined
  readonly contents: ContentUses

  private constructor(database: DatabaseSync, isShared: boolean) {
    this.#database = database
    this.contents = new ContentUses(database)
    this.unshared = isShared ? new UnsharedCounts(database) : undefined
    this.#statements = {
      add: database.prepare(ADD),
      day: database.prepare('INSERT OR IGNORE INTO counted_day (day) VALUES (?)'),
      has: database.prepare(HAS),
      size: database.prepare('SELECT count(*) AS size FROM use_of_day WHERE day = ?'),
      clients: database.prepare('SELECT DISTINCT client AS name FROM use_of_day WHERE day = ?'),
      principals: database.prepare('SELECT DISTINCT principal AS name FROM use_of_day WHERE day = ?'),
    }
  }

  /**
   * Opens the database, and makes it if it is not there. A damaged file is moved aside: `onMoved` is called with the path
   * to which it went.
   */
  static open(path: string, now: Date, onMoved: (path: string) => void, isShared = false): UsageDatabase {
    makeFolder(join(path, '..'), 0o700)
    try {
      return openWhole(path, isShared)
    } catch (error) {
      if (!isCorruption(error)) throw error
      onMoved(UsageDatabase.moveAside(path, now))
      return openWhole(path, isShared)
    }
  }

  /** Moves a damaged file aside, which must be closed here, and returns the path to which it went. */
  static moveAside(path: string, now: Date): string {
    const file = new DatabaseFile(path, true)
    const aside = file.moveAside(now)
    file.removeOlderAsides()
    return aside
  }

  static of(database: DatabaseSync, isShared: boolean): UsageDatabase {
    return new UsageDatabase(database, isShared)
  }

  /** Adds the counts to those on the disk, all or none, and notes that the day was counted. */
  add(rows: readonly UsageCount[], today: string): void {
    this.#run(() => {
      this.#statements.day.run(today)
      const sizes = new Map<string, number>()
      for (const row of rows) {
        const key = this.#keyWithin(sizes, row)
        const { day, skill, pack, client, principal } = key
        const { lists, loads, reads, failures } = row
        this.#statements.add.run(day, skill, pack, client, principal, lists, loads, reads, failures)
        this.unshared?.add(key, row)
      }
    })
  }

  /**
   * Removes the days beyond the limits. Other work of the process runs between its transactions. The age counts from the
   * day after the last one that was counted before today: a clock that is ahead for a moment removes nothing.
   */
  async prune(today: string, { days, rows }: UsageLimits): Promise<void> {
    const before = this.#read('SELECT max(day) AS day FROM counted_day WHERE day < ?', today)?.['day']
    const oldest = typeof before === 'string' ? dayBefore(before, days - 2) : ''
    const fitting = await this.#firstDayWithin(today, rows)
    const first = fitting > oldest ? fitting : oldest
    this.#run(() => this.#database.prepare('DELETE FROM counted_day WHERE day < ?').run(first))
    this.contents.prune(first)
    let removed: number
    do {
      removed = this.#run(() => Number(this.#database.prepare(REMOVE_SOME).run(first).changes))
      await setImmediate()
    } while (removed > 0)
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  /** The first of the days before today that have no more than so many rows together; today if there is none. */
  async #firstDayWithin(today: string, rows: number): Promise<string> {
    let first = today
    let counted = 0
    for (;;) {
      const day = this.#read('SELECT max(day) AS day FROM use_of_day WHERE day < ?', first)?.['day']
      if (typeof day !== 'string') return first
      counted += this.#sizeOf(day)
      if (counted > rows) return first
      first = day
      await setImmediate()
    }
  }

  /** The key under which a row is counted. Other processes may have counted other rows and names on the same day. */
  #keyWithin(sizes: Map<string, number>, row: UsageKey): UsageKey {
    const { day, skill, pack } = row
    const client = boundedClient(this.#namesOf('clients', day), row.client)
    const principal = boundedName(this.#namesOf('principals', day), row.principal, MOST_PRINCIPALS)
    if (this.#statements.has.get(day, skill, pack, client, principal) !== undefined)
      return { day, skill, pack, client, principal }
    const size = sizes.get(day) ?? this.#sizeOf(day)
    if (size >= MOST_ROWS_OF_A_DAY - 1) return keyOfOthers(day)
    sizes.set(day, size + 1)
    return { day, skill, pack, client, principal }
  }

  #namesOf(kind: 'clients' | 'principals', day: string): Set<string> {
    const key = `${kind} ${day}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const counted = new Set(this.#statements[kind].all(day).map(({ name }) => String(name)))
    for (const name of counted) if (name === OTHER || name === NO_PRINCIPAL || isKnownClient(name)) counted.delete(name)
    this.#names.set(key, counted)
    return counted
  }

  #sizeOf(day: string): number {
    return runOnDatabase(READING, () => Number(this.#statements.size.get(day)?.['size'] ?? 0))
  }

  #read(query: string, day: string): Record<string, SQLOutputValue> | undefined {
    return runOnDatabase(READING, () => this.#database.prepare(query).get(day))
  }

  #run<Done>(work: () => Done): Done {
    return runOnDatabase('write the counts of use', () => inTransaction(this.#database, work))
  }
}

const READING = 'read the counts of use'

interface Statements {
  readonly add: StatementSync
  readonly day: StatementSync
  readonly has: StatementSync
  readonly size: StatementSync
  readonly clients: StatementSync
  readonly principals: StatementSync
}

/** The day of a time, in UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** The day so many days before another. */
export function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10)
}

const DAY_MS = 86_400_000

function openWhole(path: string, isShared: boolean): UsageDatabase {
  createPrivate(path)
  return runOnDatabase(`open the database "${path}"`, () => {
    using opening = new DisposableStack()
    const database = opening.use(new DatabaseSync(path, { timeout: BUSY_MS }))
    database.exec(SETTINGS)
    inTransaction(database, () => {
      if (numberOf(database, 'schema_version') === 0) database.exec(SCHEMA)
    })
    expectUsage(database, path)
    const opened = UsageDatabase.of(database, isShared)
    opening.move()
    return opened
  })
}

/** Opens the database to read it, while other processes write it. */
export function openUsageToRead(path: string): DatabaseSync {
  return runOnDatabase(`open the database "${path}"`, () => {
    using opening = new DisposableStack()
    const database = opening.use(new DatabaseSync(path, { timeout: BUSY_MS, readOnly: true }))
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA query_only = ON')
    expectUsage(database, path)
    opening.move()
    return database
  })
}

function expectUsage(database: DatabaseSync, path: string): void {
  if (numberOf(database, 'application_id') !== APPLICATION_ID)
    throw new SyncError('store-failed', `Cannot open the database "${path}": it does not have the counts of skillsyncd`)
  const version = numberOf(database, 'user_version')
  if (version === VERSION) return
  throw new SyncError(
    'store-failed',
    `Cannot open the database "${path}": its version is ${version} and this program knows ${VERSION}; run the version that wrote it, or move the file away to begin with an empty one`,
  )
}

function createPrivate(path: string): void {
  runOnDisk(`make the database "${path}"`, () => {
    try {
      closeSync(openSync(path, 'wx', 0o600))
    } catch (error) {
      if (!isDiskError(error, 'EEXIST')) throw error
    }
  })
}

/** Reading clients wait for the write of another process for no longer than that. */
const BUSY_MS = 250

/** The last minute may be lost anyway, so a commit need not wait for the disk. A WAL stays whole. */
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA trusted_schema = OFF;
`

/** "sklu". */
const APPLICATION_ID = 0x73_6b_6c_75
const VERSION = 2

const SCHEMA = `
  CREATE TABLE use_of_day (${COUNT_COLUMNS},
    PRIMARY KEY (day, skill, pack, client, principal)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE counted_day (day TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  ${CONTENT_TABLES}
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`

const HAS = `
  SELECT 1 FROM use_of_day WHERE day = ? AND skill = ? AND pack = ? AND client = ? AND principal = ?`

/** So many rows take a few milliseconds. */
const REMOVE_SOME = `
  DELETE FROM use_of_day WHERE (day, skill, pack, client, principal) IN (
    SELECT day, skill, pack, client, principal FROM use_of_day WHERE day < ? LIMIT 2000)`

const ADD = `
  INSERT INTO use_of_day (day, skill, pack, client, principal, lists, loads, reads, failures)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, skill, pack, client, principal) DO UPDATE SET
    lists = lists + excluded.lists, loads = loads + excluded.loads, reads = reads + excluded.reads,
    failures = failures + excluded.failures`
