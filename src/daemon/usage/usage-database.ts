import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, runOnDisk } from '../../sync/store/files/disk-error.ts'
import { makeFolder } from '../../sync/store/files/state-folder.ts'
import { DatabaseFile } from '../../sync/store/objects/database-file.ts'
import { inTransaction, isCorruption, numberOf, runOnDatabase } from '../../sync/store/objects/database.ts'
import { MOST_CLIENTS, MOST_PRINCIPALS, OTHER } from './usage-counts.ts'
import type { UsageCount } from './usage-counts.ts'

/** The path of the database of counts in a state folder. Several processes may write it at the same time. */
export function usagePathIn(state: string): string {
  return join(state, 'usage', 'usage.db')
}

/** The limits of the rows on the disk. */
export interface UsageLimits {
  /** Rows of earlier days are removed. */
  readonly days: number
  /** If there are more, the earliest days are removed. */
  readonly rows: number
}

/** The counts on the disk. Each call is one short transaction; it throws `store-failed` if the disk refuses it. */
export class UsageDatabase implements Disposable {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  readonly #names = new Map<string, ReadonlySet<string>>()

  private constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = {
      add: database.prepare(ADD),
      day: database.prepare('INSERT OR IGNORE INTO counted_day (day) VALUES (?)'),
      clients: database.prepare('SELECT DISTINCT client FROM use_of_day WHERE day = ?'),
      principals: database.prepare('SELECT DISTINCT principal FROM use_of_day WHERE day = ?'),
    }
  }

  /**
   * Opens the database, and makes it if it is not there. A damaged file is moved aside: `onMoved` is called with the path
   * to which it went.
   */
  static open(path: string, now: Date, onMoved: (path: string) => void): UsageDatabase {
    makeFolder(join(path, '..'), 0o700)
    try {
      return openWhole(path)
    } catch (error) {
      if (!isCorruption(error)) throw error
      const file = new DatabaseFile(path, true)
      onMoved(file.moveAside(now))
      file.removeOlderAsides()
      return openWhole(path)
    }
  }

  static of(database: DatabaseSync): UsageDatabase {
    return new UsageDatabase(database)
  }

  /** Adds the counts to those on the disk, all or none, and notes that the day was counted. */
  add(rows: readonly UsageCount[], today: string): void {
    this.#run(() => {
      this.#statements.day.run(today)
      for (const { day, skill, pack, client, principal, lists, loads, reads } of rows)
        this.#statements.add.run(
          day,
          skill,
          pack,
          this.#among('clients', day, client, MOST_CLIENTS),
          this.#among('principals', day, principal, MOST_PRINCIPALS),
          lists,
          loads,
          reads,
        )
    })
  }

  /** Removes the days beyond the limits. */
  prune(today: string, { days, rows }: UsageLimits): void {
    const first = dayBefore(today, days - 1)
    this.#run(() => {
      for (const table of ['use_of_day', 'counted_day'])
        this.#database.prepare(`DELETE FROM ${table} WHERE day < ?`).run(first)
    })
    while (this.#count() > rows && this.#removeEarliestDay(today));
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #count(): number {
    return Number(this.#database.prepare('SELECT count(*) AS count FROM use_of_day').get()?.['count'] ?? 0)
  }

  /** False if there is only today. */
  #removeEarliestDay(today: string): boolean {
    const day = this.#database.prepare('SELECT min(day) AS day FROM use_of_day').get()?.['day']
    if (typeof day !== 'string' || day >= today) return false
    this.#run(() => {
      for (const table of ['use_of_day', 'counted_day'])
        this.#database.prepare(`DELETE FROM ${table} WHERE day <= ?`).run(day)
    })
    return true
  }

  /** Other processes, and this one before a restart, may have counted other names on the same day. */
  #among(kind: 'clients' | 'principals', day: string, name: string, most: number): string {
    const key = `${kind} ${day}`
    const column = kind === 'clients' ? 'client' : 'principal'
    const there =
      this.#names.get(key) ?? new Set(this.#statements[kind].all(day).map((row) => String(row[column] ?? '')))
    if (there.has(name)) return name
    if (there.size >= most) return OTHER
    this.#names.set(key, new Set([...there, name]))
    return name
  }

  #run(work: () => void): void {
    runOnDatabase('write the counts of use', () => inTransaction(this.#database, work))
  }
}

interface Statements {
  readonly add: StatementSync
  readonly day: StatementSync
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

function openWhole(path: string): UsageDatabase {
  createPrivate(path)
  return runOnDatabase(`open the database "${path}"`, () => {
    using opening = new DisposableStack()
    const database = opening.use(new DatabaseSync(path, { timeout: BUSY_MS }))
    database.exec(SETTINGS)
    inTransaction(database, () => {
      if (numberOf(database, 'schema_version') === 0) database.exec(SCHEMA)
    })
    expectUsage(database, path)
    const opened = UsageDatabase.of(database)
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
const VERSION = 1

const SCHEMA = `
  CREATE TABLE use_of_day (
    day TEXT NOT NULL,
    skill TEXT NOT NULL,
    pack TEXT NOT NULL,
    client TEXT NOT NULL,
    principal TEXT NOT NULL,
    lists INTEGER NOT NULL,
    loads INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    PRIMARY KEY (day, skill, pack, client, principal)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE counted_day (day TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`

const ADD = `
  INSERT INTO use_of_day (day, skill, pack, client, principal, lists, loads, reads) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, skill, pack, client, principal) DO UPDATE SET
    lists = lists + excluded.lists, loads = loads + excluded.loads, reads = reads + excluded.reads`
