/** The SHA-256 of an object's bytes, 64 lower-case hex digits. */
export type Digest = string

/**
 * Immutable objects under their SHA-256, and one head that changes by compare-and-swap. Safety rests on these two alone:
 * a head names a generation, the generation its snapshots, and so on, each by digest. One contract suite holds every
 * implementation to this.
 */
export interface ObjectStore extends Disposable {
  /**
   * Stores the bytes, each once, and returns their digests in the same order. They are durable when this resolves, and
   * replace an object that was damaged. A label serves to find them again.
   */
  put(objects: Iterable<Uint8Array>, label?: string): Promise<readonly Digest[]>
  /** Returns the digests of the objects that were put with this label. */
  labelled(label: string): Promise<readonly Digest[]>
  /** Returns the bytes; `undefined` if there is no such object. Throws `Damaged` if they do not have this digest. */
  get(digest: Digest): Promise<Uint8Array | undefined>
  /** Returns the number of its bytes, which are not read; `undefined` if there is no such object. */
  sizeOf(digest: Digest): Promise<number | undefined>
  /** Returns the bytes of these objects, in any order. Throws `Damaged` if one is not there, or is damaged. */
  each(digests: Iterable<Digest>): AsyncIterable<Uint8Array>
  /** Returns those of the digests that have no object. */
  missing(digests: Iterable<Digest>): Promise<readonly Digest[]>
  /**
   * Starts a lease. What is put, read, or found not to be missing while it is open outlives every collection until it is
   * disposed. A pull holds one from its first use of the store until its generation is published.
   */
  lease(): Disposable
  /** `undefined` before the first swap. */
  head(): Promise<StoreHead | undefined>
  /** Returns the present head and the earlier ones that are kept, newest first. */
  heads(): Promise<readonly StoreHead[]>
  /**
   * Replaces the head if it is the expected one, and returns true. Returns false, and changes nothing, if another head
   * is there. `next.sequence` is greater than that of the expected head. It is durable when this resolves.
   */
  swap(expected: StoreHead | undefined, next: StoreHead): Promise<boolean>
  /** Forgets earlier heads, and removes the objects that are neither live nor leased. The present head stays. */
  collect(collection: LiveObjects): Promise<CollectedObjects>
}

/** The state that is served, and its place in the history. */
export interface StoreHead {
  /** Grows with each swap. Never used twice. */
  readonly sequence: number
  readonly generation: Digest
}

/** Everything that a collection keeps. */
export interface LiveObjects {
  /** The sequences of earlier heads that stay. */
  readonly heads: ReadonlySet<number>
  readonly live: ReadonlySet<Digest>
}

/** The objects that a collection removed, and what is left. */
export interface CollectedObjects {
  readonly objects: number
  readonly bytes: number
  /** The bytes of the objects that stay. */
  readonly left: number
}
