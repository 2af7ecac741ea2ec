import { hash } from 'node:crypto'
import type { DigestedBytes, ObjectRows } from './object-rows.ts'
import type { Digest } from './object-store.ts'

/** Collects objects and stores them many at a time. They are durable after `flush`; a full batch is stored before. */
export class ObjectBatch {
  readonly #rows: Pick<ObjectRows, 'putAll'>
  readonly #mostBytes: number
  readonly #label: string | undefined
  #objects: DigestedBytes[] = []
  #bytes = 0

  /** `mostBytes`: the bytes of one transaction, unless one object has more. */
  constructor(rows: Pick<ObjectRows, 'putAll'>, mostBytes = MOST_BYTES, label?: string) {
    this.#rows = rows
    this.#mostBytes = mostBytes
    this.#label = label
  }

  /** Returns the digest of the bytes, which the caller must leave as they are until the next `flush`. */
  add(bytes: Uint8Array): Digest {
    const digest = hash('sha256', bytes)
    this.#objects.push({ digest, bytes })
    this.#bytes += Math.max(bytes.byteLength, LEAST_BYTES)
    if (this.#bytes >= this.#mostBytes) this.flush()
    return digest
  }

  flush(): void {
    if (this.#objects.length === 0) return
    const objects = this.#objects
    this.#objects = []
    this.#bytes = 0
    this.#rows.putAll(objects, this.#label)
  }
}

const MOST_BYTES = 2 ** 23
/** A smaller object counts as much: the rows of 500 of them take as long as one of a mebibyte. */
const LEAST_BYTES = 2 ** 11
