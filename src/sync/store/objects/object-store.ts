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
   * is there. `next.sequence` is greater than that of the expected head. The record of the next head is added in the same
   * step, and those that its limits leave no room for are removed. It is durable when this resolves.
   */
  swap(expected: StoreHead | undefined, next: StoreHead, record?: HeadRecord): Promise<boolean>
  /** Returns the sequences of all records, or of those that are wanted; newest first. */
  recordSequences(wanted?: RecordQuery): Promise<readonly number[]>
  /** Returns the records of these sequences, in any order. One that is not there, or has no usable form, is left out. */
  records(sequences: readonly number[]): AsyncIterable<HeadRecord>
  /** Adds records of earlier heads, in place of those of the same sequences. */
  addRecords(records: readonly HeadRecord[]): Promise<void>
  /** Forgets earlier heads, and removes the objects that are neither live nor leased. The present head stays. */
  collect(collection: LiveObjects): Promise<CollectedObjects>
}

/** The state that is served, and its place in the history. */
export interface StoreHead {
  /** Grows with each swap. Never used twice. */
  readonly sequence: number
  readonly generation: Digest
}

/** A text about one head that outlives its objects: a collection does not look at it. */
export interface HeadRecord {
  readonly sequence: number
  /** In milliseconds since 1970. Records that are 90 days older than the newest go. */
  readonly at: number
  /** The bytes of this text and of all before it. Records whose total is `MOST_RECORD_BYTES` below the newest go. */
  readonly total: number
  /** True if a search for what left has to read it. */
  readonly hasLeaving: boolean
  readonly text: string
}

/** The newest records, or those with a leaving whose text has this part. */
export interface RecordQuery {
  readonly most?: number
  readonly leaving?: string
}

/** The time for which a record stays. */
export const RECORD_MS = 90 * 86_400_000

/** The bytes of all records: 90 days of a generation a minute need some 80 MiB. */
export const MOST_RECORD_BYTES = 2 ** 27

/** The most bytes of one record. */
export const MOST_TEXT_BYTES = 2 ** 22

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
