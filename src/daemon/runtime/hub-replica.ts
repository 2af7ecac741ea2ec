import type { Trigger } from '../../sync/model/generation.ts'
import type { Outcome } from '../../sync/model/outcome.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Digest, LiveObjects } from '../../sync/store/objects/object-store.ts'

/** A change that another process of the hub has made, and that the store of this one has now. */
export interface AdoptedChange {
  /** True if another generation is the head. */
  readonly head: boolean
  /** The names of the shared files that differ, such as `sources/team.json`. */
  readonly files: ReadonlySet<string>
}

/** One process of a hub of several. */
export interface HubReplica {
  /** True if this process pulls and publishes. */
  readonly isLeading: boolean
  /** Has the leader pull a source, or the repository of the lock. Resolves when this process serves the result. */
  pull(id: SourceId, trigger: Trigger): Promise<Outcome>
  readonly status: ReplicasStatus
  /**
   * Resolves with true when each process that lives serves what this one does, or this one ends; with false after two
   * seconds, or without the database. Never rejects with a `SyncError`.
   */
  isServedByAll(): Promise<boolean>
  /** Call it when this process cannot write its own store: another one shall lead, if one lives. */
  stepAside(): void
  /** Call it when another catalog is served: the other processes wait for this one. */
  served(): void
  /**
   * Calls back each time a process serves what it lacked when `isServedByAll` resolved with false. `areAll`: no other
   * living process lacks something of that.
   */
  onCaughtUp(listener: (areAll: boolean) => void): void
  /** Replaces the damaged objects of a snapshot in the store of this process. Returns true if it is whole now. */
  restore(snapshot: Digest): Promise<boolean>
  /** Removes from what the processes share everything else. Only for the leader. */
  collect(objects: LiveObjects): Promise<void>
}

/** The processes of a hub of several, as `status` shows them. Times are ISO 8601, UTC. */
export interface ReplicasStatus {
  /** The id of the process that answers. */
  readonly id: string
  readonly leads: boolean
  /** The process that leads; absent if none does, or if the database is away. */
  readonly leader?: { readonly id: string; readonly since: string }
  /** All processes that were seen within the last hour, with the generation that each serves. */
  readonly processes: readonly ReplicaRow[]
  /** The reason why the database cannot be used; absent if it can. */
  readonly away?: { readonly code: SyncErrorCode; readonly message: string; readonly since: string }
}

/** One process of the hub. */
export interface ReplicaRow {
  readonly id: string
  /** The name of its machine. */
  readonly machine: string
  /** The version of its program. */
  readonly version: string
  readonly startedAt: string
  readonly seenAt: string
  readonly generation: number
  /** False if it was not seen within the last 15 seconds: it was killed, or cannot reach the database. */
  readonly isLiving: boolean
  /** True if it has other sources, packs or rules than the process that answers: the one that leads decides. */
  readonly hasOtherConfig: boolean
}
