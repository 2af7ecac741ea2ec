import { closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { diskFix, SyncError } from '../../model/sync-error.ts'
import { cannot, isDatabaseError, isDiskError } from '../files/disk-error.ts'

/**
 * Opens a database for reading and writing, and creates it if it does not exist. A reader that may write to the folder
 * also uses it: sharing a WAL takes writes. It fills no database that a process has begun: without its WAL it looks empty.
 */
export function openDatabase(path: string, role: 'writer' | 'reader' = 'writer'): DatabaseSync {
  createPrivate(path)
  return runOpening(path, () => {
    using opening = new DisposableStack()
    const database = opening.use(new DatabaseSync(path, { timeout: BUSY_MS }))
    const fills = role === 'writer' || numberOf(database, 'page_count') === 0
    if (fills && numberOf(database, 'schema_version') === 0) database.exec(FIRST_SETTINGS)
    database.exec(SETTINGS)
    if (fills) prepareSchema(database, path)
    else expectFilled(database, path)
    opening.move()
    return database
  })
}

/** Opens the database read-only, while another process may write it. */
export function openDatabaseReadOnly(path: string): DatabaseSync {
  return openToRead(path, path)
}

/**
 * Opens a database that no process has open, on a disk that takes no writes: the shared memory of a WAL would need some.
 * Later writes of another process make it unreadable.
 */
export function openStillDatabase(path: string): DatabaseSync {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return openToRead(url, path)
}

function openToRead(place: string | URL, path: string): DatabaseSync {
  return runOpening(path, () => {
    using opening = new DisposableStack()
    const database = opening.use(new DatabaseSync(place, { timeout: BUSY_MS, readOnly: true }))
    database.exec(`${CACHE}; PRAGMA trusted_schema = OFF; PRAGMA query_only = ON`)
    expectVersion(database, path)
    opening.move()
    return database
  })
}

/** A process that has lost its WAL keeps the index of it in `-shm`, so that others read past the end of the new, empty one. */
function runOpening<Opened>(path: string, open: () => Opened): Opened {
  try {
    return runOnDatabase(`open the database "${path}"`, open)
  } catch (error) {
    const isPastEnd = error instanceof SyncError && resultCodeOf(error) === SQLITE_IOERR_SHORT_READ
    if (!isPastEnd || (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) throw error
    throw lostLog(path, error.cause)
  }
}

function lostLog(path: string, cause?: unknown): SyncError {
  const message = `Cannot open the database "${path}": its write-ahead log "${path}-wal" was removed while a process used it`
  return new SyncError('store-failed', message, { cause, fix: LOST_LOG_FIX })
}

const LOST_LOG_FIX =
  'The daemon makes a new one within seconds: run the command again. If it fails again: skillsyncd stop, then skillsyncd start'

/** Runs synchronous work on a database; an error of SQLite becomes `store-failed`, any other one is rethrown. */
export function runOnDatabase<Done>(attempt: string, work: () => Done): Done {
  try {
    return work()
  } catch (cause) {
    if (!isDatabaseError(cause)) throw cause
    throw databaseFailure(attempt, cause)
  }
}

/** The error for an attempt that SQLite, or the system below it, has refused. */
export function databaseFailure(attempt: string, cause: Error): SyncError {
  const why = isDatabaseError(cause, ...UNSHARED) ? UNSHARED_TEXT : cause.message
  const errno = SYSTEM_CODES.find(([primary]) => isOfKind(cause, primary))?.[1]
  return new SyncError('store-failed', `Cannot ${attempt}: ${why}`, { cause, fix: errno && diskFix(errno) })
}

/** The primary result codes of SQLite that have a cause in the disk, with the nearest word of the system. */
const SYSTEM_CODES = [
  [8, 'EROFS'],
  [10, 'EIO'],
  [13, 'ENOSPC'],
] as const

function isOfKind(cause: Error, primary: number): boolean {
  return 'errcode' in cause && typeof cause.errcode === 'number' && (cause.errcode & 0xff) === primary
}

/** SQLITE_IOERR_SHMMAP, and those of locks: SQLITE_PROTOCOL, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_LOCK. */
const UNSHARED = [5386, 15, 2314, 3850]

const UNSHARED_TEXT =
  'its file system shares no memory or locks between processes, as most network file systems do not; use a local disk, or follow a hub'

/** Runs the work as one transaction. An error in it leaves the database as it was. */
export function inTransaction<Done>(database: DatabaseSync, work: () => Done): Done {
  return transact(database, 'BEGIN IMMEDIATE', work)
}

/** Runs reads as one transaction: they see one state, and take half the time, since each would lock the WAL by itself. */
export function inReadTransaction<Done>(database: DatabaseSync, work: () => Done): Done {
  return transact(database, 'BEGIN', work)
}

function transact<Done>(database: DatabaseSync, begin: string, work: () => Done): Done {
  database.exec(begin)
  try {
    const done = work()
    database.exec('COMMIT')
    return done
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/**
 * Creates the file before SQLite does, for its user alone; the files of the WAL get the same mode. One that exists is not
 * opened: POSIX drops all locks of a process on a file as soon as it closes any descriptor of it.
 */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if (!isDiskError(error, 'EEXIST')) cannot(`make the database "${path}"`)(error)
  }
}

/** True for our error about a database whose bytes are not what SQLite wrote. */
export function isCorruption(error: unknown): error is SyncError {
  return error instanceof SyncError && isDatabaseError(error.cause, SQLITE_CORRUPT, SQLITE_NOTADB)
}

/** The result code of SQLite behind our error; `undefined` if it has another cause. A thread sends it to another one. */
export function resultCodeOf({ cause }: SyncError): number | undefined {
  return isDatabaseError(cause) ? cause.errcode : undefined
}

/** The cause of our error that another thread has sent as the result code of SQLite. */
export function databaseErrorWith(errcode: number): Error {
  return Object.assign(new Error(`SQLite ended with ${errcode} on another thread`), { errcode })
}

const SQLITE_IOERR_SHORT_READ = 522
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** Another process holds the write lock only for one short transaction. */
const BUSY_MS = 10_000

/** KiB of pages in memory, per connection. */
const CACHE = 'PRAGMA cache_size = -16000'

/**
 * Pages of 16 KiB hold most files of skills inline: half the time and a sixth less space than with 4 KiB. The page size
 * and the vacuum mode count only before the first table; later the latter would write to a disk that may be full.
 */
const FIRST_SETTINGS = 'PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL'

const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA trusted_schema = OFF;
  ${CACHE};
`

/** "skls", so that `file` and this program recognise the database. */
const APPLICATION_ID = 0x73_6b_6c_73

/** The version of the schema, in `user_version`. */
const VERSION = 2

/** `AUTOINCREMENT`: an id is never used twice, so what is newer than the start of a lease has a greater one. */
const SCHEMA = `
  CREATE TABLE object (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    size INTEGER NOT NULL,
    bytes BLOB,
    label TEXT
  ) STRICT;
  CREATE INDEX object_label ON object (label) WHERE label IS NOT NULL;
  CREATE TABLE piece (
    object INTEGER NOT NULL REFERENCES object ON DELETE CASCADE,
    at INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (object, at)
  ) STRICT;
  CREATE TABLE head (
    sequence INTEGER PRIMARY KEY,
    generation BLOB NOT NULL CHECK (length(generation) = 32)
  ) STRICT;
  CREATE TABLE record (
    sequence INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    total INTEGER NOT NULL,
    has_leaving INTEGER NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX record_at ON record (at);
  CREATE INDEX record_total ON record (total);
  CREATE INDEX record_leaving ON record (sequence) WHERE has_leaving = 1;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`

function prepareSchema(database: DatabaseSync, path: string): void {
  inTransaction(database, () => {
    if (numberOf(database, 'user_version') === 0 && numberOf(database, 'schema_version') === 0) database.exec(SCHEMA)
    expectVersion(database, path)
  })
}

/** Waits for a process that is about to fill the database. */
function expectFilled(database: DatabaseSync, path: string): void {
  inTransaction(database, () => {
    if (numberOf(database, 'schema_version') === 0) throw lostLog(path)
    expectVersion(database, path)
  })
}

function expectVersion(database: DatabaseSync, path: string): void {
  const [application, version] = [numberOf(database, 'application_id'), numberOf(database, 'user_version')]
  if (application !== APPLICATION_ID)
    throw new SyncError('store-failed', `Cannot open the database "${path}": it was not written by skillsyncd`)
  if (version === VERSION) return
  throw new SyncError(
    'store-failed',
    `Cannot open the database "${path}": its version is ${version} and this program knows ${VERSION}; run the version that wrote it, or move the file away to begin with an empty one`,
  )
}

/** Returns the number that a pragma of the database has. */
export function numberOf(database: DatabaseSync, pragma: string): number {
  const value = database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]
  return typeof value === 'number' ? value : 0
}
