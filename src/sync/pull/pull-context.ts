import type { SourceDecision } from '../decisions/decisions.ts'
import type { LockEntry } from '../decisions/lock.ts'
import type { Waiting } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import type { Signers } from '../model/signers.ts'
import type { Current, Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import type { SyncError } from '../model/sync-error.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import type { Proof } from '../model/tree.ts'
import type { DocumentReader } from '../skill-md/document-reader.ts'
import type { Store } from '../store/store.ts'
import type { SurveyLimits } from '../survey/read-skill.ts'
import type { Rules } from '../survey/survey-rules.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Sight } from './check-signers.ts'
import type { Fallback } from './fallback-source.ts'

/** The context of a pull. */
export interface PullContext {
  readonly store: Store
  /** Opens the upstream of a source. `scratch`: an empty folder of the store for this pull. */
  readonly open: (source: Source, scratch: string) => Upstream
  readonly limits: { readonly disk: { readonly bytes: number } } & SurveyLimits
  /** Called as soon as a fetch is certain, before the commit is known. */
  readonly onFetchExpected?: () => void
  /** Reads each SKILL.md; undefined to read it on this thread. */
  readonly reader?: DocumentReader
  /** Returns the signers, or throws `revision-unverified`. Absent if the source requires no signature. */
  readonly prove?: (proof: Proof, revision: Revision, sight: Sight) => Promise<Signers>
  /** Has the skills of a locked commit that upstream does not have any more. */
  readonly fallback?: Fallback
  /** Asked before a candidate may be served; why not, where it may not. It lies in the store, whole. */
  readonly gate?: (next: Snapshot, earlier: Snapshot | undefined, signal: AbortSignal) => Promise<SyncError | undefined>
  /** Told of a revision that is not the one held, before anything of it is fetched. */
  readonly onResolved?: (revision: Revision) => void
}

/** The orders that decide, in addition to the ref, which revision is taken. */
export interface PullOrders {
  readonly decision: SourceDecision
  /** The only thing that may be taken. */
  readonly locked?: LockEntry
  /** True where the daemon withdraws what is served and not locked, though the locked commit cannot be had. */
  readonly isLockDemanded?: boolean
  /** No host is asked anything. */
  readonly offline: boolean
  /** Something of what is stored is damaged: what is served is taken anew, although it is known. */
  readonly isDamaged?: boolean
  /** The target of the ref at the last pull that followed it. */
  readonly followed?: TrackedRef | undefined
  /** The revision that the last pull fetched and held: it is not fetched again. */
  readonly waiting?: Waiting | undefined
}

/** One pull: what it is about, and what it works with. */
export interface Pull {
  readonly source: Source
  readonly current: Current | undefined
  readonly orders: PullOrders
  readonly io: PullContext
  readonly signal: AbortSignal
}

/** The rules of a pull, from the present configuration. */
export function rulesFor({ source, io }: Pick<Pull, 'source' | 'io'>): Rules {
  return { selection: source, limits: io.limits }
}
