import { Damaged } from '../../model/sync-error.ts'
import type { BlobBatch, BlobStore } from './blob-store.ts'
import { ObjectBatch } from './object-batch.ts'
import type { ObjectRows } from './object-rows.ts'

/** The blobs of a database on this machine, by this thread's connection. */
export class LocalBlobs implements BlobStore {
  readonly database: string
  readonly #objects: { readonly rows: ObjectRows }

  /** `objects.rows` are those of the connection that is open at the time. */
  constructor(database: string, objects: { readonly rows: ObjectRows }) {
    this.database = database
    this.#objects = objects
  }

  batch(): BlobBatch {
    return new ObjectBatch(this.#objects.rows, BATCH_BYTES)
  }

  read(sha256: string): Uint8Array {
    const bytes = this.#objects.rows.get(sha256)
    if (bytes === undefined) throw new Damaged(`Cannot read the object "${sha256}": it is not in the store`)
    return bytes
  }
}

/** Some 5 ms on a thread that others wait for. */
const BATCH_BYTES = 2 ** 20
