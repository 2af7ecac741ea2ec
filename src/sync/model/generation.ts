import type { SourceId } from './source-id.ts'

/** One moment of all sources: what `current` points to. */
export interface Generation {
  /** Counts up from 1; never used twice in one state folder. */
  readonly number: number
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** In the order of the configuration. */
  readonly sources: readonly Held[]
}

/** The snapshot that a generation holds of one source. */
export interface Held {
  readonly source: SourceId
  /** The name of the snapshot in the store: SHA-256 of its JSON, 64 hex digits. */
  readonly snapshot: string
}
