import { z } from 'zod'
import { DECIDED_SOURCE } from './decisions/decided.ts'
import type { ObjectId } from './revision.ts'
import type { SourceId } from './source-id.ts'

/** The state of all sources at one moment: the target of `current`. */
export interface Generation {
  /** Counts up from 1; never used twice in one state folder. */
  readonly number: number
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** In the order of the configuration. */
  readonly sources: readonly GenerationEntry[]
  /**
   * The sources whose served content the disk had lost when this was published. The generation has no snapshot of them.
   */
  readonly lost?: readonly SourceId[]
  /** The cause of this generation. Absent if it cannot be read. */
  readonly cause?: GenerationCause
  /** The content of the rings after the first, whose content is `sources`. Absent if there are no rings. */
  readonly rings?: RingStates
}

/** The rings of a generation, and the sources of which they serve different snapshots. */
export interface RingStates {
  /** The ids of the rings, that of the newest content first. */
  readonly order: readonly string[]
  /** One for each source of which a ring serves another snapshot than the first ring. */
  readonly trails: readonly RingTrail[]
}

/** The snapshots of one source that its rings serve or may still take, oldest first. The first ring serves the last. */
export interface RingTrail {
  readonly source: SourceId
  readonly steps: readonly RingStep[]
}

/** A snapshot that the first ring has served. */
export interface RingStep extends Pick<GenerationEntry, 'snapshot'> {
  readonly commit: ObjectId
  /** A digest of the skills and documents of the snapshot: SHA-256, 64 hex digits. */
  readonly content: string
  /** The time from which each ring has served it, by the id of the ring: ISO 8601, UTC. A ring serves its last one. */
  readonly since: Readonly<Record<string, string>>
  /** The source went back to earlier content after it: no further ring takes it. */
  readonly reverted?: true
}

/** The snapshot that a generation holds of one source. */
export interface GenerationEntry {
  readonly source: SourceId
  /** The name of the snapshot in the store: SHA-256 of its JSON, 64 hex digits. */
  readonly snapshot: string
}

/**
 * The trigger of a check of a source. `change`: something moved in the folder that is the source. `call`: a client
 * requested its content after some time without a check, or stored content was found damaged. `reload`: the
 * configuration changed.
 */
export type Trigger = (typeof TRIGGERS)[number]

export const TRIGGERS = ['start', 'reload', 'schedule', 'webhook', 'change', 'call', 'command'] as const

export const CAUSE = z
  .object({
    /**
     * `withdraw`: something must not be served any longer (lock, signature, configuration). `promote`: a ring took what
     * the ring before it serves.
     */
    action: z.enum(['update', 'rollback', 'withdraw', 'promote']),
    trigger: z.enum(TRIGGERS),
    /** Absent if the cause concerns several sources. */
    source: DECIDED_SOURCE.exactOptional(),
    /** The commit does not have the previous one among its ancestors. */
    rewritten: z.literal(true).exactOptional(),
  })
  .readonly()

/** The reason for a new generation, and its trigger. */
export type GenerationCause = z.infer<typeof CAUSE>
