import type { Followed } from './tracked-ref.ts'
import type { Held } from './generation.ts'
import type { Moved } from './skill-delta.ts'
import type { Revision } from './revision.ts'
import type { Snapshot } from './snapshot.ts'
import type { SyncError, SyncErrorCode } from './sync-error.ts'

/** How a pull ended. */
export type Outcome = Unchanged | Updated | Waiting | Failed

export interface Unchanged {
  readonly kind: 'unchanged'
  /** What was seen. Undefined where nobody was asked, since the network is off. */
  readonly revision: Revision | undefined
  /** Where the ref led. A process that was killed when it had published may not have remembered it. */
  readonly followed?: Followed
  readonly drift?: Drift
}

/** What a person should know although nothing failed: where upstream departs from the lock, or why its newest is not served. */
export interface Drift {
  readonly error: HoldReason
  /** What upstream has: what there is to decide is about this, and not about what is served. */
  readonly newest: Revision
}

export interface Updated {
  readonly kind: 'updated'
  readonly revision: Revision
  readonly snapshot: Snapshot
  readonly held: Held
  /** What was served before. */
  readonly from: Revision | undefined
  /** How its skills differ from what was served before. */
  readonly moved: Moved
  /** The branch was rewritten: what was served before is no ancestor. Undefined where that is not known. */
  readonly rewritten: boolean | undefined
  /** Where the ref led upstream in this pull. Absent where upstream did not say: a lock or a pin names a commit without it. */
  readonly seen?: Revision
  /** Nothing of it came from upstream: the store had it. */
  readonly isFromStore?: true
  readonly drift?: Drift
}

/** Why a pull holds what it found: the code, and a message for people. */
export interface HoldReason {
  readonly code: SyncErrorCode
  readonly message: string
}

/** What an outcome carries of an error: a value that says the same after JSON. */
export function holdReasonOf({ code, message }: SyncError): HoldReason {
  return { code, message }
}

/** The ref moved, and what was served is served on: until a person decides, or because one did. */
export interface Waiting {
  readonly kind: 'held'
  /** What was seen; undefined where nobody looked. */
  readonly revision: Revision | undefined
  readonly reason: HoldReason
}

export interface Failed {
  readonly kind: 'failed'
  readonly error: SyncError
  /** What is served may not be served any longer. */
  readonly withdraw?: true
}
