import type { SourceDecision } from '../model/decisions/decisions.ts'
import type { LockEntry } from '../model/decisions/lock.ts'
import type { Waiting } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import type { Signers } from '../model/signers.ts'
import type { ServedSource, Snapshot } from '../model/snapshot.ts'
import type { Source } from '../model/source.ts'
import type { SyncError } from '../model/sync-error.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import type { Proof } from '../model/tree.ts'
import type { DocumentReader } from '../skill/document-reader.ts'
import type { Workspace } from '../store/objects/blob-store.ts'
import type { Store } from '../store/store.ts'
import type { SurveyLimits } from '../survey/read-skill.ts'
import type { Rules } from '../survey/survey-rules.ts'
import type { TreeUpstream, Upstream } from '../upstream/upstream.ts'
import type { Fallback } from './fallback/fallback-source.ts'

/**
 * `first`: a revision is judged by what its keys may sign now. `again`: by what they were allowed to sign at the time.
 */
export type FirstOrRepeated = 'first' | 'again'

/** The context of a pull. */
export interface PullContext {
  readonly store: Store
  /** Opens the upstream of a source, for one pull. */
  readonly open: (source: Source, workspace: Workspace) => Upstream
  /** Makes the snapshot of a revision, in the way of the kind of source. Absent for files in the trees of a commit. */
  readonly snapshotOf?: (pull: RevisionPull) => Promise<Snapshot>
  readonly limits: { readonly disk: { readonly bytes: number } } & SurveyLimits
  /** Waits between two looks at a ref; absent to look once. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
  /** Called as soon as a fetch is certain, before the commit is known. */
  readonly onFetchExpected?: () => void
  /** Reads each SKILL.md; undefined to read it on this thread. */
  readonly reader?: DocumentReader
  /** Returns the signers, or throws `revision-unverified`. Absent if the source requires no signature. */
  readonly prove?: (proof: Proof, revision: Revision, sight: FirstOrRepeated) => Promise<Signers>
  /** Has the skills of a locked commit that upstream does not have any more. */
  readonly fallback?: Fallback
  /** Returns the operator's reason not to serve a candidate. All skills of the candidate are in the store. */
  readonly gate?: (next: Snapshot, earlier: Snapshot | undefined, signal: AbortSignal) => Promise<SyncError | undefined>
  /** Returns the reason to hold a candidate that takes a pack over its limit. Absent if no pack has one. */
  readonly budget?: (next: Snapshot) => SyncError | undefined
  /** Called with a revision that is not the served one, before anything of it is fetched. */
  readonly onResolved?: (revision: Revision) => void
}

/** The orders that decide, in addition to the ref, which revision is taken. */
export interface PullOrders {
  readonly decision: SourceDecision
  /** The only thing that may be taken. */
  readonly locked?: LockEntry
  /** The lock entry that the next one replaces. Nothing of it must be served. */
  readonly former?: LockEntry | undefined
  /** True if content that is not locked is withdrawn even when the locked commit is unavailable. */
  readonly isLockDemanded?: boolean
  /** No request leaves the machine. */
  readonly offline: boolean
  /** A stored file is damaged: the served revision is taken again, although it is known. */
  readonly isDamaged?: boolean
  /** The target of the ref at the last pull that followed it. */
  readonly followed?: TrackedRef | undefined
  /** The revision that the last pull fetched and held: it is not fetched again. */
  readonly waiting?: Waiting | undefined
}

/**
 * One pull, and what it works with. A step takes the pull with what earlier steps found. It adds what it finds itself,
 * or returns the outcome that ends the pull; a step that only judges returns `undefined` to go on.
 */
export interface Pull {
  readonly source: Source
  readonly current: ServedSource | undefined
  readonly orders: PullOrders
  readonly io: PullContext
  readonly signal: AbortSignal
}

/** A pull with its upstream open. */
export interface OpenPull extends Pull {
  readonly upstream: Upstream
}

/** A pull of a locked commit. */
export interface LockedPull extends Pull {
  readonly entry: LockEntry
}

/** A pull with the revision to take. */
export interface RevisionPull extends OpenPull {
  readonly revision: Revision
}

/** A pull that reads files from the trees of a commit. */
export interface TreePull extends RevisionPull {
  readonly upstream: TreeUpstream
  /** The snapshot whose unchanged parts are reused unread. */
  readonly earlier: Snapshot | undefined
  /** The served snapshot, if it is of the present address of the source. */
  readonly served: Snapshot | undefined
}

/** A pull with the revision that the source should have. */
export interface ResolvedPull extends RevisionPull {
  /** True if upstream reported the revision as the target of the ref. False for a commit where the operator froze it. */
  readonly isSeen: boolean
}

/** A pull with the snapshot of its revision, whose skills are in the store. */
export interface SurveyedPull extends Pull {
  readonly snapshot: Snapshot
  /** True if the served commit is no ancestor of the snapshot's; `undefined` if that is unknown. */
  readonly rewritten: boolean | undefined
}

/** Returns the upstream as one of the kind that the source has. */
export function upstreamAs<Kind extends Upstream['kind']>({ upstream }: OpenPull, kind: Kind): UpstreamOf<Kind> {
  if (isOfKind(upstream, kind)) return upstream
  throw new TypeError(`The upstream is of the kind "${upstream.kind}", and not "${kind}"`)
}

type UpstreamOf<Kind> = Extract<Upstream, { readonly kind: Kind }>

function isOfKind<Kind>(upstream: Upstream, kind: Kind): upstream is UpstreamOf<Kind> {
  return upstream.kind === kind
}

/** The rules of a pull, from the present configuration. */
export function rulesFor({ source, io }: Pick<Pull, 'source' | 'io'>): Rules {
  return { selection: source, limits: io.limits }
}
