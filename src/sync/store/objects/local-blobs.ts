import { Damaged } from '../../model/sync-error.ts'
import type { BlobBatch, BlobStore } from './blob-store.ts'
import { ObjectBatch } from './object-batch.ts'
import type { ObjectRows } from './object-rows.ts'

/** The blobs of a database on this machine, by this thread's connection. */
export class LocalBlobs implements BlobStore {
  readonly database: string
  readonly #objects: LeasedRows

  constructor(database: string, objects: LeasedRows) {
    this.database = database
    this.#objects = objects
  }

  batch(): BlobBatch {
    const batch = new ObjectBatch(this.#objects.rows, BATCH_BYTES)
    return {
      add: (bytes) => {
        const sha256 = batch.add(bytes)
        // It may be there already, and in use by nothing else.
        this.hold([sha256])
        return sha256
      },
      flush: () => batch.flush(),
    }
  }

  hold(sha256s: Iterable<string>): void {
    this.#objects.hold(sha256s)
  }

  read(sha256: string): Uint8Array {
    const bytes = this.#objects.rows.get(sha256)
    if (bytes === undefined) throw new Damaged(`Cannot read the object "${sha256}": it is not in the store`)
    return bytes
  }
}

/** The objects of a store. */
interface LeasedRows {
  /** Those of the connection that is open at the time. */
  readonly rows: ObjectRows
  /** Keeps objects for the leases that are open. */
  hold(digests: Iterable<string>): void
}

/** Some 5 ms on a thread that others wait for. */
const BATCH_BYTES = 2 ** 20
