import type { HiddenText } from '../skill/hidden-unicode.ts'
import type { ObjectId, Revision } from './revision.ts'

/** The files of one revision, read-only. Its scratch data is gone when it is disposed. */
export interface Tree extends AsyncDisposable {
  readonly revision: Revision
  /** The tree of the commit itself, whatever the source's `root` is. */
  readonly root: ObjectId
  /** The raw objects that lead from the ref to `root`, verified against their ids. Stored as proof. */
  readonly proof: Proof
  /**
   * The entries of a tree object, in git's order. Throws `TreeNotTakenError` for a tree that the caller declared as known.
   */
  list(tree: ObjectId): readonly TreeEntry[]
  /**
   * Fetches each of the blobs once and verifies it against its id. Order and repetition of `blobs` do not matter. The
   * result has every requested id. An implementation may pass blobs to `onStored` as soon as they
   * are stored; the result has them too.
   */
  take(blobs: Iterable<ObjectId>, signal: AbortSignal, onStored?: OnStored): Promise<ReadonlyMap<ObjectId, TakenBlob>>
  /** Returns the bytes of a taken blob. Synchronous. */
  bytesOf(blob: Blob): Uint8Array
}

/** Receives blobs that are in the store while others are still fetched. */
export type OnStored = (blobs: ReadonlyMap<ObjectId, TakenBlob>) => void

/** A blob, or the reason why this one is unavailable. */
export type TakenBlob = Blob | RefusedBlob

export interface Proof {
  readonly commit: Uint8Array
  readonly tag?: Uint8Array
}

/**
 * One line of a tree object. A name in git is raw bytes: an entry whose name is not UTF-8, or over
 * `FetchLimits.segmentBytes`, is unusable, and has the printable part of its name. Content below it is not fetched.
 * `unread`, only in a plain folder: a folder that is not entered, a link outside of skills, an ignored SKILL.md, or an
 * entry too deep or with too long a path; `take` gives the reason.
 */
export interface TreeEntry {
  readonly name: string
  readonly kind:
    | 'file'
    | 'executable'
    | 'link'
    | 'folder'
    | 'submodule'
    | 'unusable-file'
    | 'unusable-folder'
    | 'unread'
  readonly id: ObjectId
}

/** A blob whose bytes are in the store. */
export interface Blob {
  readonly kind: 'blob'
  readonly size: number
  /** SHA-256 of the bytes, 64 lower-case hex digits. */
  readonly sha256: string
  /** True if it is a Git LFS pointer instead of the file itself. */
  readonly isLfsPointer: boolean
  /** The invisible text in it. */
  readonly hidden?: HiddenText
}

export interface RefusedBlob {
  readonly kind: 'refused'
  /**
   * `too-large`: over `FetchLimits.blobBytes`. `absent`: the repository names it and does not have it. In a plain
   * folder, `forbidden`: no permission to read it; `unreadable`: the disk fails to read it; `changing`: it does not
   * stop changing; `too-far`: over `FetchLimits.depth` or `pathBytes`; `special`: a socket, a pipe or a device;
   * `ignored`: a SKILL.md that an ignore file covers.
   */
  readonly reason: 'too-large' | 'absent' | 'forbidden' | 'unreadable' | 'changing' | 'too-far' | 'special' | 'ignored'
  /** For `ignored`: the line that covers it, as text for messages. */
  readonly by?: string
  /** For `too-large`, if the header has it. */
  readonly size?: number
}

/**
 * True if a refused blob may be readable at the next check without a change: such a fault takes nothing out of service.
 */
export function mayPass(reason: RefusedBlob['reason']): boolean {
  return PASSING.has(reason)
}

const PASSING: ReadonlySet<RefusedBlob['reason']> = new Set(['forbidden', 'unreadable', 'changing'])

/**
 * The number of blobs that one request to a git host names: some 200 KB, since a proxy may accept no more than 1 MB,
 * and a response that the main thread can read in passing.
 */
export const BLOBS_AT_ONCE = 4000

/** Takes blobs one by one, each once, until the signal aborts. */
export async function takeEach(
  blobs: Iterable<ObjectId>,
  take: (id: ObjectId) => Promise<TakenBlob>,
  signal: AbortSignal,
): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
  const taken = new Map<ObjectId, TakenBlob>()
  for (const id of new Set(blobs)) {
    signal.throwIfAborted()
    taken.set(id, await take(id))
  }
  return taken
}

/** The fetch left out a requested tree, because its id is at a path where the caller knew it. */
export class TreeNotTakenError extends Error {
  override readonly name = 'TreeNotTaken'
}
