import type { SourceId } from './source-id.ts'

/** The state of all sources at one moment: the target of `current`. */
export interface Generation {
  /** Counts up from 1; never used twice in one state folder. */
  readonly number: number
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** In the order of the configuration. */
  readonly sources: readonly HeldSnapshot[]
  /**
   * The sources whose served content the disk had lost when this was published. The generation has no snapshot of them.
   */
  readonly lost?: readonly SourceId[]
  /** The cause of this generation. Absent in generations of older versions. */
  readonly cause?: GenerationCause
}

/** The snapshot that a generation holds of one source. */
export interface HeldSnapshot {
  readonly source: SourceId
  /** The name of the snapshot in the store: SHA-256 of its JSON, 64 hex digits. */
  readonly snapshot: string
}

/** The reason for a new generation, and its trigger. */
export interface GenerationCause {
  /** `withdraw`: something must not be served any longer (lock, signature, configuration). */
  readonly action: 'update' | 'rollback' | 'withdraw'
  readonly trigger: Trigger
  /** Absent if the cause concerns several sources. */
  readonly source?: SourceId
  /** The commit does not have the previous one among its ancestors. */
  readonly rewritten?: true
}

/**
 * The trigger of a check of a source. `change`: something moved in the folder that is the source. `call`: a client
 * requested its content after some time without a check, or stored content was found damaged. `reload`: the
 * configuration changed.
 */
export type Trigger = (typeof TRIGGERS)[number]

export const TRIGGERS = ['start', 'reload', 'schedule', 'webhook', 'change', 'call', 'command'] as const
