import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { Damaged } from '../../model/sync-error.ts'
import { inTransaction, runOnDatabase } from './database.ts'
import type { Collected, Digest, Head, Lease, ObjectStore } from './object-store.ts'

/** Objects in one SQLite database. The connection is this store's own, and is closed with it. */
export class SqliteObjects implements ObjectStore {
  readonly #database: DatabaseSync
  readonly #statements: Statements
  /** By lease: the objects that were there before it and are relied on. */
  readonly #leases = new Map<number, OpenLease>()
  #leaseId = 0

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#statements = prepareStatements(database)
  }

  async put(objects: Iterable<Uint8Array>, lease: Lease): Promise<readonly Digest[]> {
    const digests: Digest[] = []
    for (const batch of batchesOf(objects)) {
      digests.push(...runOnDatabase('store objects', () => this.#putBatch(batch)))
      await setImmediate()
    }
    this.#hold(digests, lease)
    return digests
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    const bytes = await this.#read(digest)
    if (bytes === undefined || hash('sha256', bytes) === digest) return bytes
    throw new Damaged(`Cannot read the object "${digest}": its SHA-256 is another`)
  }

  async missing(digests: Iterable<Digest>, lease: Lease): Promise<readonly Digest[]> {
    const missing: Digest[] = []
    for (const slice of slicesOf(digests, AT_ONCE)) {
      const absent = runOnDatabase('look for objects', () => slice.filter((digest) => this.#idOf(digest) === undefined))
      const gone = new Set(absent)
      this.#hold(
        slice.filter((digest) => !gone.has(digest)),
        lease,
      )
      missing.push(...absent)
      await setImmediate()
    }
    return missing
  }

  lease(): Lease {
    this.#leaseId += 1
    const id = this.#leaseId
    this.#leases.set(id, { after: this.#newestId(), held: new Set() })
    return { id, [Symbol.dispose]: () => void this.#leases.delete(id) }
  }

  async head(): Promise<Head | undefined> {
    return runOnDatabase('read the head', () => headIn(this.#statements.head.get()))
  }

  async swap(expected: Head | undefined, next: Head): Promise<boolean> {
    return runOnDatabase('publish', () =>
      inTransaction(this.#database, () => {
        const { sequence, generation } = headIn(this.#statements.head.get()) ?? {}
        if (sequence !== expected?.sequence || generation !== expected?.generation) return false
        this.#statements.swap.run(next.sequence, bytesOf(next.generation))
        return true
      }),
    )
  }

  async collect(live: Iterable<Digest>): Promise<Collected> {
    const liveDigests = new Set(live)
    let [objects, bytes, left] = [0, 0, 0]
    for (let after = 0; ;) {
      const page = runOnDatabase('collect objects', () => this.#statements.page.all(after, AT_ONCE)).map(entryOf)
      const dead = page.filter(({ id, digest }) => !liveDigests.has(digest) && !this.#isLeased(id, digest))
      runOnDatabase('collect objects', () => this.#remove(dead.map(({ id }) => id)))
      objects += dead.length
      bytes += sizeOf(dead)
      left += sizeOf(page) - sizeOf(dead)
      const last = page.at(-1)
      if (last === undefined) break
      after = last.id
      await setImmediate()
    }
    return { objects, bytes, left }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close()
  }

  #putBatch(batch: readonly Uint8Array[]): readonly Digest[] {
    return inTransaction(this.#database, () => batch.map((bytes) => this.#putOne(bytes)))
  }

  #putOne(bytes: Uint8Array): Digest {
    const digest = hash('sha256', bytes)
    const isLarge = bytes.byteLength > PIECE_BYTES
    const { changes, lastInsertRowid } = this.#statements.put.run(
      bytesOf(digest),
      bytes.byteLength,
      isLarge ? null : bytes,
    )
    if (changes === 0 || !isLarge) return digest
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES)
      this.#statements.putPiece.run(lastInsertRowid, at, bytes.subarray(at, at + PIECE_BYTES))
    return digest
  }

  async #read(digest: Digest): Promise<Uint8Array | undefined> {
    const attempt = `read the object "${digest}"`
    const row = runOnDatabase(attempt, () => this.#statements.get.get(bytesOf(digest)))
    if (row === undefined) return undefined
    if (row['bytes'] instanceof Uint8Array) return row['bytes']
    const id = Number(row['id'])
    const bytes = new Uint8Array(Number(row['size']))
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
      const piece = runOnDatabase(attempt, () => this.#statements.getPiece.get(id, at))?.['bytes']
      if (!(piece instanceof Uint8Array) || piece.byteLength > bytes.byteLength - at)
        throw new Damaged(`Cannot ${attempt}: a piece of it is gone`)
      bytes.set(piece, at)
      await setImmediate()
    }
    return bytes
  }

  #idOf(digest: Digest): number | undefined {
    const row = this.#statements.find.get(bytesOf(digest))
    return row === undefined ? undefined : Number(row['id'])
  }

  #newestId(): number {
    return runOnDatabase('start a lease', () => Number(this.#statements.newest.get()?.['seq'] ?? 0))
  }

  #hold(digests: readonly Digest[], { id }: Lease): void {
    const lease = this.#leases.get(id)
    if (lease === undefined) throw new TypeError('The lease has ended')
    for (const digest of digests) lease.held.add(digest)
  }

  #isLeased(id: number, digest: Digest): boolean {
    for (const { after, held } of this.#leases.values()) if (id > after || held.has(digest)) return true
    return false
  }

  #remove(ids: readonly number[]): void {
    if (ids.length === 0) return
    inTransaction(this.#database, () => {
      for (const id of ids) this.#statements.remove.run(id)
    })
  }
}

interface OpenLease {
  /** The newest object at the start of the lease: all later ones are protected, whichever connection put them. */
  readonly after: number
  readonly held: Set<Digest>
}

interface Statements {
  readonly put: StatementSync
  readonly putPiece: StatementSync
  readonly get: StatementSync
  readonly getPiece: StatementSync
  readonly find: StatementSync
  readonly newest: StatementSync
  readonly page: StatementSync
  readonly remove: StatementSync
  readonly head: StatementSync
  readonly swap: StatementSync
}

function prepareStatements(database: DatabaseSync): Statements {
  return {
    put: database.prepare('INSERT INTO object (digest, size, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'),
    putPiece: database.prepare('INSERT INTO piece (object, at, bytes) VALUES (?, ?, ?)'),
    get: database.prepare('SELECT id, size, bytes FROM object WHERE digest = ?'),
    getPiece: database.prepare('SELECT bytes FROM piece WHERE object = ? AND at = ?'),
    find: database.prepare('SELECT id FROM object WHERE digest = ?'),
    newest: database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'object'"),
    page: database.prepare('SELECT id, digest, size FROM object WHERE id > ? ORDER BY id LIMIT ?'),
    remove: database.prepare('DELETE FROM object WHERE id = ?'),
    head: database.prepare('SELECT sequence, generation FROM head'),
    swap: database.prepare('INSERT OR REPLACE INTO head (one, sequence, generation) VALUES (1, ?, ?)'),
  }
}

/** A larger object is several rows, so that no single read or write holds the thread for long. */
const PIECE_BYTES = 2 ** 18

/** The rows of one query or one transaction. */
const AT_ONCE = 1_000

/** The bytes of one transaction. */
const BATCH_BYTES = 2 ** 23

function* batchesOf(objects: Iterable<Uint8Array>): Generator<readonly Uint8Array[]> {
  let [batch, bytes]: [Uint8Array[], number] = [[], 0]
  for (const object of objects) {
    batch.push(object)
    bytes += object.byteLength
    if (batch.length < AT_ONCE && bytes < BATCH_BYTES) continue
    yield batch
    ;[batch, bytes] = [[], 0]
  }
  if (batch.length > 0) yield batch
}

function* slicesOf<Item>(items: Iterable<Item>, size: number): Generator<readonly Item[]> {
  let slice: Item[] = []
  for (const item of items) {
    slice.push(item)
    if (slice.length < size) continue
    yield slice
    slice = []
  }
  if (slice.length > 0) yield slice
}

function bytesOf(digest: Digest): Uint8Array {
  return Buffer.from(digest, 'hex')
}

function textOf(bytes: unknown): Digest {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('hex') : ''
}

function headIn(row: Readonly<Record<string, unknown>> | undefined): Head | undefined {
  return row && { sequence: Number(row['sequence']), generation: textOf(row['generation']) }
}

interface Entry {
  readonly id: number
  readonly digest: Digest
  readonly size: number
}

function entryOf(row: Readonly<Record<string, unknown>>): Entry {
  return { id: Number(row['id']), digest: textOf(row['digest']), size: Number(row['size']) }
}

function sizeOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0)
}
