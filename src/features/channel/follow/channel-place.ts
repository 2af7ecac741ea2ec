/** The checkpoint of a channel as it is served, or that it is the one that the caller has. */
export type ServedCheckpoint =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'checkpoint'
      readonly note: string
      /** The mark that the server compares a later request with; `undefined` if it gives none. */
      readonly etag: string | undefined
    }

/** The part of a request for a checkpoint that the caller knows. */
export interface KnownCheckpoint {
  readonly etag: string | undefined
  /** The id of the follower and the entries that it obeys, as one text. */
  readonly follower?: string | undefined
}

/** The place that a channel is read from. Nothing that it returns can be trusted. */
export interface ChannelPlace {
  /** `known`: what the caller has. */
  checkpoint(known: KnownCheckpoint, signal: AbortSignal): Promise<ServedCheckpoint>
  /**
   * Returns the bytes at a path below the channel; `undefined` if there is nothing. Throws `limit-exceeded` for more than
   * `mostBytes`, before it has read more.
   */
  read(path: string, mostBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined>
  /** Sends a report of a follower. False if it is worth another attempt: the place failed, or cannot be reached. */
  report(text: string, signal: AbortSignal): Promise<boolean>
}

/** The most bytes of a checkpoint: room for hundreds of signatures. */
export const MOST_CHECKPOINT_BYTES = 2 ** 16
