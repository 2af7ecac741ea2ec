import type { ObjectId, Revision } from '../../../model/revision.ts'
import type { Taken } from '../../../model/tree.ts'
import type { GitObject } from './git-object.ts'
import type { FetchLimits, KnownTrees, Relation } from '../../upstream.ts'
import type { Way } from '../../http/host-access.ts'

/** The objects of one repository, as the worker sees them. Whatever comes out of it was hashed against its id. */
export interface Objects extends Partial<Disposable> {
  /** Makes the commit, its tag and its trees readable, those that are known perhaps not. */
  open(revision: Revision, known: KnownTrees, way: Way): Promise<void>
  /** Undefined for one that is not there. Of one that is too large no more is read than its header. */
  read(id: ObjectId): Promise<GitObject | LargeObject | undefined>
  /** Reads as many commits as it takes, within `HISTORY_LIMITS`. */
  relation(from: ObjectId, to: ObjectId, way: Way): Promise<Relation>
  /** Hands each of the blobs that can be had to `keep`. Returns the others, and why. */
  take(blobs: readonly ObjectId[], keep: KeepBlob, way: Way): Promise<ReadonlyMap<ObjectId, Taken>>
}

/** An object with more bytes than one that is no file can have within the limits. */
export interface LargeObject {
  readonly type: 'too-large'
  readonly size: number | undefined
}

/**
 * The most bytes of an object that is no file: the tree of as many files as a repository may have, with the longest names. A tree
 * of a few files may be that large as well, and so may a commit.
 */
export function objectBytesOf({ files, segmentBytes }: Pick<FetchLimits, 'files' | 'segmentBytes'>): number {
  return Math.max(LEAST_OBJECT_BYTES, files * (segmentBytes + TREE_ENTRY_BYTES))
}

/** Commits and small trees are read whole even where files have to be few. */
const LEAST_OBJECT_BYTES = 2 ** 24
/** Of an entry beside its name: the mode, a space, a NUL and the longer id. */
const TREE_ENTRY_BYTES = 40

/** A blob of which no more than the header was read. */
export function tooLarge(size: number | undefined): Taken {
  return { kind: 'refused', reason: 'too-large', ...(size !== undefined && { size }) }
}

export const ABSENT: Taken = { kind: 'refused', reason: 'absent' }

export type KeepBlob = (bytes: Uint8Array) => Taken
