import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Damaged } from '../../model/sync-error.ts'
import { inReadTransaction, inTransaction, runOnDatabase } from './database.ts'
import type { Digest } from './object-store.ts'

/** The rows of objects, on one connection. Every call is synchronous: for one small object it takes some 20 µs. */
export class ObjectRows {
  readonly #database: DatabaseSync
  readonly #run: typeof runOnDatabase
  readonly #put: StatementSync
  readonly #labelOf: StatementSync
  readonly #putPiece: StatementSync
  readonly #get: StatementSync
  readonly #getPiece: StatementSync
  readonly #find: StatementSync
  readonly #sizeOf: StatementSync
  readonly #discard: StatementSync

  /** `run` runs all work on the database, and converts its errors. */
  constructor(database: DatabaseSync, run: typeof runOnDatabase = runOnDatabase) {
    this.#database = database
    this.#run = run
    this.#put = database.prepare(
      'INSERT INTO object (digest, size, bytes, label) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    )
    this.#labelOf = database.prepare('SELECT label FROM object WHERE digest = ?')
    this.#putPiece = database.prepare('INSERT INTO piece (object, at, bytes) VALUES (?, ?, ?)')
    this.#get = database.prepare('SELECT id, size, bytes FROM object WHERE digest = ?')
    this.#getPiece = database.prepare('SELECT bytes FROM piece WHERE object = ? AND at = ?')
    this.#sizeOf = database.prepare('SELECT size FROM object WHERE digest = ?')
    this.#find = database.prepare('SELECT 1 FROM object WHERE digest = ?')
    this.#discard = database.prepare('DELETE FROM object WHERE digest = ?')
  }

  /** Stores the objects in one transaction. One that was damaged is intact then. */
  putAll(objects: readonly DigestedBytes[], label?: string): void {
    this.#run('store objects', () =>
      inTransaction(this.#database, () => {
        for (const object of objects) this.#putOne(object, label)
      }),
    )
  }

  /** Returns those of the digests whose objects are stored. */
  present(digests: readonly Digest[]): ReadonlySet<Digest> {
    const isStored = (digest: Digest): boolean => this.#find.get(blobOf(digest)) !== undefined
    return this.#run('find objects', () => inReadTransaction(this.#database, () => new Set(digests.filter(isStored))))
  }

  /** Returns the bytes; `undefined` if there is no such object. Throws `Damaged` if they do not have this digest. */
  get(digest: Digest): Uint8Array | undefined {
    const found = this.find(digest)
    if (found === undefined || !found.isInPieces) return found?.bytes()
    // Another connection that puts the object again removes the pieces of before.
    const whole = this.#run(`read the object "${digest}"`, () =>
      inReadTransaction(this.#database, () => this.#foundWhole(digest)),
    )
    return whole?.bytes()
  }

  /** Returns the size that the row of an object has; `undefined` if there is none. */
  sizeOf(digest: Digest): number | undefined {
    const row = this.#run(`find the object "${digest}"`, () => this.#sizeOf.get(blobOf(digest)))
    return row === undefined ? undefined : Number(row['size'])
  }

  #foundWhole(digest: Digest): FoundObject | undefined {
    const found = this.find(digest)
    for (const piece of found?.pieces() ?? []) found?.add(piece)
    return found
  }

  /** Looks up an object, whose pieces are then read one by one. */
  find(digest: Digest): FoundObject | undefined {
    const row = this.#run(`read the object "${digest}"`, () => this.#get.get(blobOf(digest)))
    return row && new FoundObject(digest, row, (id, at) => this.#pieceAt(digest, id, at))
  }

  #pieceAt(digest: Digest, id: number, at: number): Uint8Array {
    const row = this.#run(`read the object "${digest}"`, () => this.#getPiece.get(id, at))
    const bytes = row?.['bytes']
    if (bytes instanceof Uint8Array) return bytes
    throw new Damaged(`Cannot read the object "${digest}": a piece of it is gone`)
  }

  /**
   * An object that is there already is stored anew: it may be damaged, and a new id puts it under the lease of the pull,
   * whichever connection that pull uses.
   */
  #putOne({ digest, bytes }: DigestedBytes, label: string | null = null): void {
    const whole = bytes.byteLength > PIECE_BYTES ? null : bytes
    const [key, size] = [blobOf(digest), bytes.byteLength]
    let { changes, lastInsertRowid } = this.#put.run(key, size, whole, label)
    if (changes === 0) {
      const kept = this.#labelOf.get(key)?.['label']
      this.#discard.run(key)
      ;({ changes, lastInsertRowid } = this.#put.run(
        key,
        size,
        whole,
        label ?? (typeof kept === 'string' ? kept : null),
      ))
    }
    if (whole === null) this.#putPieces(lastInsertRowid, bytes)
  }

  #putPieces(id: number | bigint, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES)
      this.#putPiece.run(id, at, bytes.subarray(at, at + PIECE_BYTES))
  }
}

/** Bytes and their SHA-256. */
export interface DigestedBytes {
  readonly digest: Digest
  readonly bytes: Uint8Array
}

/** An object as its row has it. `bytes` gives out nothing that has another digest. */
export class FoundObject {
  readonly #digest: Digest
  readonly id: number
  readonly #whole: Uint8Array
  /** True for a large object: `pieces` are added before `bytes` is called. */
  readonly isInPieces: boolean
  readonly #pieceAt: (id: number, at: number) => Uint8Array
  #filled = 0

  constructor(digest: Digest, row: Readonly<Record<string, unknown>>, pieceAt: (id: number, at: number) => Uint8Array) {
    const { id, size, bytes } = row
    this.#digest = digest
    this.id = Number(id)
    this.isInPieces = !(bytes instanceof Uint8Array)
    this.#whole = bytes instanceof Uint8Array ? bytes : this.#bufferOf(Number(size))
    this.#pieceAt = pieceAt
  }

  #bufferOf(size: number): Uint8Array {
    if (!Number.isSafeInteger(size) || size < 0 || size > MOST_BYTES) throw this.#damage()
    return new Uint8Array(size)
  }

  /** Reads the pieces of a large object; none for another one. */
  *pieces(): Generator<Uint8Array> {
    if (!this.isInPieces) return
    for (let at = 0; at < this.#whole.byteLength; at += PIECE_BYTES) yield this.#pieceAt(this.id, at)
  }

  add(piece: Uint8Array): void {
    if (piece.byteLength > this.#whole.byteLength - this.#filled) throw this.#damage()
    this.#whole.set(piece, this.#filled)
    this.#filled += piece.byteLength
  }

  bytes(): Uint8Array {
    if (hash('sha256', this.#whole) !== this.#digest) throw this.#damage()
    return this.#whole
  }

  #damage(): Damaged {
    return new Damaged(`Cannot read the object "${this.#digest}": its SHA-256 is another`)
  }
}

/** A larger object is several rows, so that no single read or write holds the thread for long. */
const PIECE_BYTES = 2 ** 18

/** No object is larger: what says so is damaged. */
const MOST_BYTES = 2 ** 31

export function sha256Of(bytes: Uint8Array): Digest {
  return hash('sha256', bytes)
}

/** A digest as the database has it: 32 bytes. */
export function blobOf(digest: Digest): Uint8Array {
  return Buffer.from(digest, 'hex')
}

/** The digest in a column of the database. */
export function digestIn(column: unknown): Digest {
  return column instanceof Uint8Array ? Buffer.from(column).toString('hex') : ''
}
