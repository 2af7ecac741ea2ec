import type { ObjectId, Revision } from '../model/revision.ts'
import type { Taken } from '../model/tree.ts'
import type { GitObject } from './git-object.ts'
import type { KnownTrees, Relation } from './upstream.ts'
import type { Way } from './way.ts'

/** The objects of one repository, as the worker sees them. Whatever comes out of it was hashed against its id. */
export interface Objects extends Partial<Disposable> {
  /** Makes the commit, its tag and its trees readable, those that are known perhaps not. */
  open(revision: Revision, known: KnownTrees, way: Way): Promise<void>
  /** Undefined for one that is not there. */
  read(id: ObjectId): Promise<GitObject | undefined>
  /** Reads as many commits as it takes, within `HISTORY_LIMITS`. */
  relation(from: ObjectId, to: ObjectId, way: Way): Promise<Relation>
  /** Hands each of the blobs that can be had to `keep`. Returns the others, and why. */
  take(blobs: readonly ObjectId[], keep: KeepBlob, way: Way): Promise<ReadonlyMap<ObjectId, Taken>>
}

export type KeepBlob = (bytes: Uint8Array) => Taken
