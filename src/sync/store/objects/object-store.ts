/** The SHA-256 of an object's bytes, 64 lower-case hex digits. */
export type Digest = string

/**
 * Immutable objects under their SHA-256, and one head that changes by compare-and-swap. Safety rests on these two alone:
 * a head names a generation, the generation its snapshots, and so on, each by digest. One contract suite holds every
 * implementation to this.
 */
export interface ObjectStore extends Disposable {
  /**
   * Stores the bytes, each once, and returns their digests in the same order. They are durable when this resolves. They
   * stay until the lease ends, and after that as long as a collection finds them live.
   */
  put(objects: Iterable<Uint8Array>, lease: Lease): Promise<readonly Digest[]>
  /** Returns the bytes; `undefined` if there is no such object. Throws `Damaged` if they do not have this digest. */
  get(digest: Digest): Promise<Uint8Array | undefined>
  /** Returns those of the digests that have no object. The others stay until the lease ends. */
  missing(digests: Iterable<Digest>, lease: Lease): Promise<readonly Digest[]>
  /** Starts a lease. Objects that are put or found under it outlive every collection until it is disposed. */
  lease(): Lease
  /** `undefined` before the first swap. */
  head(): Promise<Head | undefined>
  /**
   * Replaces the head if it is the expected one, and returns true. Returns false, and changes nothing, if another head
   * is there. It is durable when this resolves.
   */
  swap(expected: Head | undefined, next: Head): Promise<boolean>
  /** Removes the objects that are neither live nor leased. */
  collect(live: Iterable<Digest>): Promise<Collected>
}

/** What the served state follows from. It names objects by digest. */
export interface Head {
  /** Grows by one with each swap; 1 at first. */
  readonly sequence: number
  readonly generation: Digest
}

/** Keeps objects from a collection; a pull holds one from its start until its generation is published. */
export interface Lease extends Disposable {
  readonly id: number
}

/** The objects that a collection removed, and what is left. */
export interface Collected {
  readonly objects: number
  readonly bytes: number
  /** The bytes of the objects that stay. */
  readonly left: number
}
