/** The bytes of taken blobs, by their SHA-256. They stay as long as the pull that took them runs, at least. */
export interface BlobStore {
  /** The path of the database that has them, for a thread with a connection of its own. */
  readonly database: string
  /** Starts a batch of blobs to store. */
  batch(): BlobBatch
  /** Returns the bytes with this SHA-256. Throws `Damaged` if they are gone. Synchronous. */
  read(sha256: string): Uint8Array
}

/** Blobs that are stored together. They are there after `flush`, and some of them earlier. */
export interface BlobBatch {
  /** Returns the SHA-256 of the bytes, which the caller leaves as they are until the next `flush`. */
  add(bytes: Uint8Array): string
  flush(): void
}

/** The places that one pull writes to while it runs. */
export interface Workspace {
  /** A folder for this pull alone, below one that exists. It is made when something is written to it. */
  readonly scratch: string
  readonly blobs: BlobStore
}
