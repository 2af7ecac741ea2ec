import type { BlobBatch, BlobStore } from '../../model/blob-store.ts'
import { Damaged } from '../../model/sync-error.ts'
import { ObjectBatch } from './object-batch.ts'
import type { ObjectRows } from './object-rows.ts'

/** The blobs of a database on this machine, by this thread's connection. */
export class LocalBlobs implements BlobStore {
  readonly database: string
  readonly #rows: ObjectRows

  constructor(database: string, rows: ObjectRows) {
    this.database = database
    this.#rows = rows
  }

  batch(): BlobBatch {
    return new ObjectBatch(this.#rows, BATCH_BYTES)
  }

  read(sha256: string): Uint8Array {
    const bytes = this.#rows.get(sha256)
    if (bytes === undefined) throw new Damaged(`Cannot read the object "${sha256}": it is not in the store`)
    return bytes
  }
}

/** Some 5 ms on a thread that others wait for. */
const BATCH_BYTES = 2 ** 20
