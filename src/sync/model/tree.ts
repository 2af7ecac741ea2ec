import type { HiddenText } from '../skill-md/hidden-unicode.ts'
import type { ObjectId, Revision } from './revision.ts'

/** The files of one revision: readable, unable to change. What it holds in scratch is gone when it is disposed. */
export interface Tree extends AsyncDisposable {
  readonly revision: Revision
  /** The tree of the commit itself, whatever the source's `root` is. */
  readonly root: ObjectId
  /** The raw objects that lead from the ref to `root`, hashed against their ids. Kept as proof. */
  readonly proof: Proof
  /** The entries of a tree object, in git's order. Throws `TreeNotTaken` for one that the caller said it knows. */
  list(tree: ObjectId): readonly TreeEntry[]
  /**
   * Brings each of the blobs once, checked against its id. Order and repetition of `blobs` do not matter. The answer has
   * every id that was asked for.
   */
  take(blobs: Iterable<ObjectId>, signal: AbortSignal): Promise<ReadonlyMap<ObjectId, Taken>>
}

/** A blob, or why this one alone could not be had. */
export type Taken = Blob | Refused

export interface Proof {
  readonly commit: Uint8Array
  readonly tag?: Uint8Array
}

/**
 * One line of a tree object. The name is raw bytes in git: an entry whose name is not UTF-8, or over
 * `FetchLimits.segmentBytes`, is unusable, and has what can be shown of its name. What lies below it is not fetched.
 * `unread`, in a plain folder alone: a folder that is not looked into, a link outside of skills, or whatever lies too deep or
 * has too long a path; `take` tells why.
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

/** The bytes of a blob, in `file` from `at` on, until the tree is disposed. Other blobs may lie beside them. */
export interface Blob {
  readonly kind: 'blob'
  readonly size: number
  /** SHA-256 of the bytes, 64 lower-case hex digits. */
  readonly sha256: string
  /** What git LFS keeps in the place of a file. */
  readonly isLfsPointer: boolean
  /** What nobody would see in it. */
  readonly hidden?: HiddenText
  readonly file: string
  readonly at: number
}

export interface Refused {
  readonly kind: 'refused'
  /**
   * `too-large`: over `FetchLimits.blobBytes`. `absent`: the repository names it and does not have it. In a plain folder,
   * `forbidden`: we may not read it; `unreadable`: the disk does not give it; `changing`: it does not come to rest;
   * `too-far`: over `FetchLimits.depth` or `pathBytes`; `special`: it is no file, but a socket, a pipe or a device.
   */
  readonly reason: 'too-large' | 'absent' | 'forbidden' | 'unreadable' | 'changing' | 'too-far' | 'special'
  /** Of what is too large, where its header says it. */
  readonly size?: number
}

/** Whether what was refused may be readable at the next look, unchanged: such a fault takes nothing out of service. */
export function mayPass(reason: Refused['reason']): boolean {
  return PASSING.has(reason)
}

const PASSING: ReadonlySet<Refused['reason']> = new Set(['forbidden', 'unreadable', 'changing'])

/**
 * Blobs that one request to a git host asks for: some 200 KB, where a proxy may take no more than 1 MB, and an answer that the
 * main thread reads in passing.
 */
export const BLOBS_AT_ONCE = 4000

/** Takes blobs one after the other, each once, until it is to stop. */
export async function takeEach(
  blobs: Iterable<ObjectId>,
  take: (id: ObjectId) => Promise<Taken>,
  signal: AbortSignal,
): Promise<ReadonlyMap<ObjectId, Taken>> {
  const taken = new Map<ObjectId, Taken>()
  for (const id of new Set(blobs)) {
    signal.throwIfAborted()
    taken.set(id, await take(id))
  }
  return taken
}

/** A tree was asked for that the fetch left out, because its id stands at a path where the caller knew it. */
export class TreeNotTaken extends Error {
  override readonly name = 'TreeNotTaken'
}
