import type { SourceId } from './source-id.ts'

/** One moment of all sources: what `current` points to. */
export interface Generation {
  /** Counts up from 1; never used twice in one state folder. */
  readonly number: number
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** In the order of the configuration. */
  readonly sources: readonly Held[]
  /** The sources of which the disk had lost what was served when this was published, so that it holds nothing of them. */
  readonly lost?: readonly SourceId[]
  /** What made it. Absent in generations of older versions. */
  readonly cause?: Cause
}

/** The snapshot that a generation holds of one source. */
export interface Held {
  readonly source: SourceId
  /** The name of the snapshot in the store: SHA-256 of its JSON, 64 hex digits. */
  readonly snapshot: string
}

/** Why there is a new generation, and who asked for it. */
export interface Cause {
  /** `withdraw`: something may not be served any longer (lock, signature, configuration). */
  readonly action: 'update' | 'rollback' | 'withdraw'
  readonly trigger: Trigger
  /** Absent where it is about all of them. */
  readonly source?: SourceId
  /** A commit that does not have the one before among its ancestors. */
  readonly rewritten?: true
}

/**
 * Who wanted a source to be looked at. `change`: something moved in the folder that is the source. `call`: a client asked for
 * what it has, when nobody had looked for some time, or what is stored was found damaged. `reload`: the configuration is another.
 */
export type Trigger = 'start' | 'reload' | 'schedule' | 'webhook' | 'change' | 'call' | 'command'
