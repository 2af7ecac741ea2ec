import type { SkillChange } from './changes/skill-changes.ts'
import type { GenerationEntry } from './generation.ts'
import type { Revision } from './revision.ts'
import type { Snapshot } from './snapshot.ts'
import type { Problem, SyncError } from './sync-error.ts'
import type { TrackedRef } from './tracked-ref.ts'

/** The result of a pull. */
export type Outcome = Unchanged | Updated | Waiting | Failed

export interface Unchanged {
  readonly kind: 'unchanged'
  /** The revision that the pull saw. `undefined` if it made no request because the network is off. */
  readonly revision: Revision | undefined
  /** The position of the ref. A process that was killed after it published may not have stored it. */
  readonly followed?: TrackedRef
  readonly drift?: Drift
}

/**
 * A notice for the operator although nothing failed: upstream differs from the lock, or its newest revision is not
 * served.
 */
export interface Drift {
  readonly error: HoldReason
  /** The revision upstream: a decision is about this one, and not about the served one. */
  readonly newest: Revision
}

export interface Updated {
  readonly kind: 'updated'
  readonly revision: Revision
  readonly snapshot: Snapshot
  readonly held: GenerationEntry
  /** The revision that was served before. */
  readonly from: Revision | undefined
  /** The difference between its skills and those served before. */
  readonly changes: readonly SkillChange[]
  /** True if the branch was rewritten: the commit served before is not an ancestor. `undefined` if that is unknown. */
  readonly rewritten: boolean | undefined
  /**
   * The upstream position of the ref in this pull. Absent if upstream did not report it: a lock or a hold names a commit
   * without it.
   */
  readonly seen?: Revision
  /** Nothing came from upstream: the store already had it. */
  readonly isFromStore?: true
  readonly drift?: Drift
}

/** The reason why a pull holds its candidate, or serves another revision than the newest. */
export interface HoldReason extends Problem {
  /** An error is no reason: JSON and spreads lose its message. */
  readonly name?: never
}

/** The ref moved, and what was served is served on: until a person decides, or because one did. */
export interface Waiting {
  readonly kind: 'waiting'
  /** The revision that the pull saw; `undefined` if it made no request. */
  readonly revision: Revision | undefined
  readonly reason: HoldReason
}

export interface Failed {
  readonly kind: 'failed'
  readonly error: SyncError
  /** The served content must not be served any longer. */
  readonly withdraw?: true
}
