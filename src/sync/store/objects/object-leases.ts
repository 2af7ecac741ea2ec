import type { Digest } from './object-store.ts'

/**
 * The open leases of one process. A lease covers every object that came after it was opened, and every older one that
 * was read or found while it was open. An object that is put again has a new id.
 */
export class ObjectLeases {
  readonly #open = new Set<OpenLease>()
  /** The newest lease at the time when an older object was last found, by its digest. */
  readonly #found = new Map<Digest, number>()
  #opened = 0

  /** Opens a lease, given the newest id of an object. */
  open(newestId: number): Disposable {
    this.#opened += 1
    const lease = { number: this.#opened, after: newestId }
    this.#open.add(lease)
    return { [Symbol.dispose]: () => this.#close(lease) }
  }

  /** True if no lease is open: no thread of this process fetches into the database. */
  get areNone(): boolean {
    return this.#open.size === 0
  }

  /** Covers an object that was there before by all open leases. */
  hold(digest: Digest): void {
    if (this.#open.size === 0) return
    // Kept in the order of the numbers.
    this.#found.delete(digest)
    this.#found.set(digest, this.#opened)
  }

  /** True if an open lease covers the object. */
  covers(id: number, digest: Digest): boolean {
    // Leases are in the order of their opening, and the first one covers whatever a later one does.
    const [oldest] = this.#open
    return oldest !== undefined && (id > oldest.after || (this.#found.get(digest) ?? 0) >= oldest.number)
  }

  /** Covers every object of another database that takes the place of this one: its ids begin anew. */
  coverAll(): void {
    for (const lease of this.#open) lease.after = 0
  }

  #close(lease: OpenLease): void {
    const [oldest] = this.#open
    this.#open.delete(lease)
    if (oldest !== lease) return
    const [next] = this.#open
    for (const [digest, number] of this.#found) {
      if (next !== undefined && number >= next.number) return
      this.#found.delete(digest)
    }
  }
}

interface OpenLease {
  readonly number: number
  /** The newest id of an object when it was opened. */
  after: number
}
