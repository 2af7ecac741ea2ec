import type { ObjectId, Revision } from '../../model/revision.ts'
import type { TakenBlob } from '../../model/tree.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import type { GitObject } from '../../upstream/objects/git-object.ts'
import type { FetchLimits, KnownTrees, Relation } from '../../upstream/upstream.ts'

/** The objects of one repository for the worker. Every returned object is verified against its id. */
export interface ObjectSource extends Partial<Disposable> {
  /** Makes the commit, its tag and its trees readable; known trees may stay unreadable. */
  open(revision: Revision, known: KnownTrees, way: HostAccess): Promise<void>
  /** Returns an object; `undefined` if it is absent. Of a too large object only the header is read. */
  read(id: ObjectId): Promise<GitObject | LargeObject | undefined>
  /** Returns the relation of two commits. Reads as many commits as needed, within `HISTORY_LIMITS`. */
  relation(from: ObjectId, to: ObjectId, way: HostAccess): Promise<Relation>
  /** Passes each available blob to `keep`. The result has an entry for each blob, with the reason for a missing one. */
  take(blobs: readonly ObjectId[], keep: KeepBlob, way: HostAccess): Promise<ReadonlyMap<ObjectId, TakenBlob>>
}

/** An object that exceeds the size limit for commits, tags and trees. */
export interface LargeObject {
  readonly type: 'too-large'
  readonly size: number | undefined
}

/**
 * Returns the maximum bytes of an object that is not a file: a tree with the maximum number of files and the longest
 * names. The same limit applies to a tree of a few files and to a commit.
 */
export function objectBytesOf({ files, segmentBytes }: Pick<FetchLimits, 'files' | 'segmentBytes'>): number {
  return Math.max(LEAST_OBJECT_BYTES, files * (segmentBytes + TREE_ENTRY_BYTES))
}

/** Commits and small trees are read whole even if the limit of files is low. */
const LEAST_OBJECT_BYTES = 2 ** 24
/** The overhead per entry in addition to the name: the mode, a space, a NUL and the longer id. */
const TREE_ENTRY_BYTES = 40

/** Returns the refusal of a blob that is too large. */
export function tooLarge(size: number | undefined): TakenBlob {
  return { kind: 'refused', reason: 'too-large', ...(size !== undefined && { size }) }
}

export const ABSENT: TakenBlob = { kind: 'refused', reason: 'absent' }

export type KeepBlob = (id: ObjectId, bytes: Uint8Array) => TakenBlob

/** The next step for a damaged object of a local repository. */
export const FSCK = 'git fsck in the repository lists what is damaged; restore it from another clone'
