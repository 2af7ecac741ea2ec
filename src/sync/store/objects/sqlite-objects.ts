import { backup, type DatabaseSync, type StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { inSlices } from '../../../base/async/cooperative.ts'
import { Damaged } from '../../model/sync-error.ts'
import { databaseFailure, inTransaction, isCorruption, numberOf, runOnDatabase } from './database.ts'
import { HeadRows } from './head-rows.ts'
import { ObjectBatch } from './object-batch.ts'
import { ObjectLeases } from './object-leases.ts'
import { digestIn, ObjectRows } from './object-rows.ts'
import type { FoundObject } from './object-rows.ts'
import type {
  CollectedObjects,
  LiveObjects,
  Digest,
  HeadRecord,
  RecordQuery,
  StoreHead,
  ObjectStore,
} from './object-store.ts'
import { RecordRows } from './record-rows.ts'

/** Objects in one SQLite database. The connection is this store's own, and is closed with it. */
export class SqliteObjects implements ObjectStore {
  readonly #file: OpensDatabase
  #connection: OpenConnection
  #isCorrupt = false
  readonly #leases = new ObjectLeases()

  constructor(file: OpensDatabase) {
    this.#file = file
    this.#connection = this.#connect()
  }

  /** The rows of the present connection. */
  get rows(): ObjectRows {
    return this.#connection.rows
  }

  /** True if SQLite has found the database damaged since it was opened. */
  get isCorrupt(): boolean {
    return this.#isCorrupt
  }

  /**
   * Returns a function that takes an error of another connection to the present database, such as that of a fetch, and
   * records damage. After the database was replaced, it records nothing.
   */
  damageRecorder(): (error: unknown) => void {
    const rows = this.#connection.rows
    return (error) => {
      if (rows === this.#connection.rows) this.#recordDamage(error)
    }
  }

  /**
   * Opens the database again: another file may be in its place. With `before`, which runs while the database is closed;
   * without, the connection stays as it was if the file cannot be opened.
   */
  reopen(before?: () => void): void {
    if (before !== undefined) this[Symbol.dispose]()
    before?.()
    const opened = this.#connect()
    this[Symbol.dispose]()
    this.#leases.coverAll()
    this.#connection = opened
    this.#isCorrupt = false
  }

  /**
   * Opens the database with a new WAL in place of a removed one, which this connection still has open: it writes it into
   * the database first, so that nothing is lost. While a thread fetches, nothing is done: another connection of the
   * process keeps the memory of the removed WAL, and a new one could not read.
   */
  reopenForLog(): void {
    if (this.#leases.areNone && this.#writesLogBack()) this.reopen(() => {})
  }

  /** False while another process reads a part of the WAL that is not in the database. */
  #writesLogBack(): boolean {
    const { database } = this.#connection
    // Closed by an earlier try, which could not open it again.
    if (!database.isOpen) return true
    // SQLite does it at the close only if no other process has the database open.
    const done = this.#run('write back the log', () => database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get())
    return done?.['busy'] === 0 && done['log'] === done['checkpointed']
  }

  #connect(): OpenConnection {
    using opening = new DisposableStack()
    const database = opening.use(this.#file.open())
    return this.#run('open the database', () => {
      const rows = new ObjectRows(database, this.#run)
      const records = new RecordRows(database, this.#run)
      const heads = new HeadRows(database, this.#run, records)
      const statements = prepareStatements(database)
      opening.move()
      return { database, rows, heads, records, statements }
    })
  }

  /** The bytes of the database that are in use, those of the latest writes included. Reads no object. */
  get bytes(): number {
    return this.#run('measure the database', () => {
      const pages =
        numberOf(this.#connection.database, 'page_count') - numberOf(this.#connection.database, 'freelist_count')
      return pages * numberOf(this.#connection.database, 'page_size')
    })
  }

  /** Returns the damage that SQLite's own check finds: `undefined` if there is none. Reads the whole database. */
  damage(): string | undefined {
    const rows = this.#run('check the database', () => this.#connection.database.prepare('PRAGMA quick_check(1)').all())
    const [found] = rows.map((row) => String(row['quick_check']))
    return found === 'ok' ? undefined : found
  }

  /** Copies the database as it is at one moment to another file, with SQLite's own online backup. */
  async copyTo(path: string): Promise<void> {
    // A transaction that reads holds the moment: otherwise each write of another process begins the copy anew.
    using source = this.#file.open()
    this.#run('begin to copy', () => source.exec('BEGIN; SELECT count(*) FROM head'))
    await backup(source, path, { rate: PAGES_AT_ONCE }).catch((cause: unknown) => {
      throw cause instanceof Error ? databaseFailure(`copy the database to "${path}"`, cause) : cause
    })
  }

  /** Reads all objects, each verified by its digest. Throws `Damaged` for one that is not what it was. */
  async *all(): AsyncGenerator<Uint8Array> {
    for await (const digest of this.digests()) {
      const bytes = await this.get(digest)
      if (bytes !== undefined) yield bytes
    }
  }

  /** Returns the digests of all objects. */
  async *digests(): AsyncGenerator<Digest> {
    for (let after = 0; ;) {
      const page = this.#run('list objects', () => this.#connection.statements.page.all(after, AT_ONCE)).map(entryOf)
      for (const { digest } of page) yield digest
      const last = page.at(-1)
      if (last === undefined) return
      after = last.id
    }
  }

  async put(objects: Iterable<Uint8Array>, label?: string): Promise<readonly Digest[]> {
    const digests: Digest[] = []
    const batch = new ObjectBatch(this.#connection.rows, SLICE_BYTES, label)
    await inSlices(objects, (bytes) => void digests.push(batch.add(bytes)))
    batch.flush()
    return digests
  }

  async labelled(label: string): Promise<readonly Digest[]> {
    return this.#run('list objects', () => this.#connection.statements.labelled.all(label)).map(({ digest }) =>
      digestIn(digest),
    )
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    this.#leases.hold(digest)
    for (;;) {
      const found = this.#connection.rows.find(digest)
      if (found === undefined) return undefined
      try {
        return await bytesOf(found)
      } catch (error) {
        // An object that was put again in between has another id, and its pieces with it.
        if (!(error instanceof Damaged) || this.#connection.rows.find(digest)?.id === found.id) throw error
      }
    }
  }

  async sizeOf(digest: Digest): Promise<number | undefined> {
    return this.#connection.rows.sizeOf(digest)
  }

  async *each(digests: Iterable<Digest>): AsyncGenerator<Uint8Array> {
    for (const digest of digests) {
      const bytes = await this.get(digest)
      if (bytes === undefined) throw new Damaged(`Cannot read the object "${digest}": it is not in the store`)
      yield bytes
    }
  }

  async missing(digests: Iterable<Digest>): Promise<readonly Digest[]> {
    const missing: Digest[] = []
    for (const slice of slicesOf(digests, AT_ONCE, () => 1)) {
      const stored = this.#connection.rows.present(slice)
      for (const digest of slice) {
        if (stored.has(digest)) this.#leases.hold(digest)
        else missing.push(digest)
      }
      await setImmediate()
    }
    return missing
  }

  lease(): Disposable {
    return this.#leases.open(this.#newestId())
  }

  async head(): Promise<StoreHead | undefined> {
    return this.#connection.heads.newest()
  }

  async heads(): Promise<readonly StoreHead[]> {
    return this.#connection.heads.all()
  }

  async swap(expected: StoreHead | undefined, next: StoreHead, record?: HeadRecord): Promise<boolean> {
    return this.#connection.heads.swap(expected, next, record)
  }

  async recordSequences(wanted: RecordQuery = {}): Promise<readonly number[]> {
    return this.#connection.records.sequences(wanted)
  }

  async *records(sequences: readonly number[]): AsyncGenerator<HeadRecord> {
    for (const sequence of sequences) {
      const record = this.#connection.records.get(sequence)
      if (record !== undefined) yield record
    }
  }

  async addRecords(records: readonly HeadRecord[]): Promise<void> {
    this.#connection.records.add(records)
  }

  /** Takes the heads of an earlier store over, in place of all that are there, and of the records. */
  async adopt(heads: readonly StoreHead[]): Promise<void> {
    this.#connection.heads.adopt(heads)
  }

  /** Adds an earlier head, whose objects are all in the store, unless there is one of its sequence. */
  async addEarlier(head: StoreHead): Promise<void> {
    this.#connection.heads.addEarlier(head)
  }

  async collect({ heads, live }: LiveObjects): Promise<CollectedObjects> {
    this.#connection.heads.forgetEarlier(heads)
    let [objects, bytes, left] = [0, 0, 0]
    for (let after = 0; ;) {
      const page = this.#run('collect objects', () => this.#connection.statements.page.all(after, AT_ONCE)).map(entryOf)
      const removed = await this.#removeDead(page, live)
      objects += removed.length
      bytes += sizeOf(removed)
      left += sizeOf(page) - sizeOf(removed)
      const last = page.at(-1)
      if (last === undefined) break
      after = last.id
      await setImmediate()
    }
    if (objects > 0) await this.#freeSpace()
    return { objects, bytes, left }
  }

  /** Removes the objects that are in no use, a few mebibytes in one turn of the event loop. */
  async #removeDead(page: readonly Entry[], live: LiveObjects['live']): Promise<readonly Entry[]> {
    const removed: Entry[] = []
    for (const slice of slicesOf(page, 4 * SLICE_BYTES, ({ size }) => size)) {
      const dead = slice.filter(({ id, digest }) => !live.has(digest) && !this.#leases.covers(id, digest))
      this.#run('collect objects', () => this.#remove(dead))
      removed.push(...dead)
      if (slice.length < page.length) await setImmediate()
    }
    return removed
  }

  /** Returns free pages to the file system, a few mebibytes in one turn of the event loop. */
  async #freeSpace(): Promise<void> {
    for (let left = Infinity; ;) {
      const now = this.#run('free space', () => numberOf(this.#connection.database, 'freelist_count'))
      if (now === 0 || now >= left) return
      left = now
      this.#run('free space', () => this.#connection.database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`))
      await setImmediate()
    }
  }

  [Symbol.dispose](): void {
    if (this.#connection.database.isOpen) this.#connection.database.close()
  }

  readonly #run: typeof runOnDatabase = (attempt, work) => {
    try {
      return runOnDatabase(attempt, work)
    } catch (error) {
      this.#recordDamage(error)
      throw error
    }
  }

  #recordDamage(error: unknown): void {
    if (isCorruption(error)) this.#isCorrupt = true
  }

  #newestId(): number {
    return this.#run('start a lease', () => Number(this.#connection.statements.newest.get()?.['seq'] ?? 0))
  }

  #remove(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    inTransaction(this.#connection.database, () => {
      for (const { id } of entries) this.#connection.statements.remove.run(id)
    })
  }
}

/** Reads a large object piece by piece, and lets others run in between. */
async function bytesOf(found: FoundObject): Promise<Uint8Array> {
  for (const piece of found.pieces()) {
    found.add(piece)
    await setImmediate()
  }
  return found.bytes()
}

/** The file that a connection is opened to. */
export interface OpensDatabase {
  open(): DatabaseSync
}

interface OpenConnection {
  readonly database: DatabaseSync
  readonly rows: ObjectRows
  readonly heads: HeadRows
  readonly records: RecordRows
  readonly statements: Statements
}

interface Statements {
  readonly newest: StatementSync
  readonly labelled: StatementSync
  readonly page: StatementSync
  readonly remove: StatementSync
}

function prepareStatements(database: DatabaseSync): Statements {
  return {
    newest: database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'object'"),
    labelled: database.prepare('SELECT digest FROM object WHERE label = ? ORDER BY id'),
    page: database.prepare('SELECT id, digest, size FROM object WHERE id > ? ORDER BY id LIMIT ?'),
    remove: database.prepare('DELETE FROM object WHERE id = ?'),
  }
}

/** The pages that a copy takes in one turn of the event loop: 4 MiB. */
const PAGES_AT_ONCE = 256

/** The rows of one query or one transaction. */
const AT_ONCE = 1_000

/** The bytes of one transaction on a thread that others wait for: some 5 ms. */
const SLICE_BYTES = 2 ** 20

/** Consecutive slices of the items; each ends with the item that brings its weight to `most`. */
function* slicesOf<Item>(
  items: Iterable<Item>,
  most: number,
  weightOf: (item: Item) => number,
): Generator<readonly Item[]> {
  let slice: Item[] = []
  let weight = 0
  for (const item of items) {
    slice.push(item)
    weight += weightOf(item)
    if (weight < most) continue
    yield slice
    slice = []
    weight = 0
  }
  if (slice.length > 0) yield slice
}

interface Entry {
  readonly id: number
  readonly digest: Digest
  readonly size: number
}

function entryOf(row: Readonly<Record<string, unknown>>): Entry {
  return { id: Number(row['id']), digest: digestIn(row['digest']), size: Number(row['size']) }
}

function sizeOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0)
}
