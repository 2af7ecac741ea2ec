import type { ObjectId, Revision } from '../../model/revision.ts'
import type { DirectorySource } from '../../model/source.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { Tree } from '../../model/tree.ts'
import type { BlobStore } from '../../store/objects/blob-store.ts'
import type { FetchLimits, KnownTrees, Relation, TreeUpstream } from '../upstream.ts'
import type { FolderHashes } from './folder-hashes.ts'
import type { RestClock } from './folder-rest.ts'
import { readFolder, type FolderTree } from './folder-tree.ts'

/** The context of the upstream of a folder. */
export interface FolderReach {
  /** Keeps the bytes of files. */
  readonly blobs: BlobStore
  readonly limits: FetchLimits
  /** Hashes of the files from earlier reads of the folder; `undefined` to read every file. */
  readonly hashes?: FolderHashes
  /** Waits until files that were just written are settled; `undefined` to read them as they are. */
  readonly clock?: RestClock
  /** Absolute paths that belong to no folder: the state of this program. */
  readonly apart?: readonly string[]
}

/** A plain folder as a source: its present content is its only commit. */
export class DirectoryUpstream implements TreeUpstream {
  readonly kind = 'tree'
  readonly #source: DirectorySource
  readonly #reach: FolderReach
  /** The tree of the last `resolve`, for the `fetch` that follows it. */
  #seen: FolderTree | undefined

  constructor(source: DirectorySource, reach: FolderReach) {
    this.#source = source
    this.#reach = reach
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    this.#seen = await this.#read(signal)
    return this.#seen.revision
  }

  async fetch({ commit, ...rest }: Revision, _known: KnownTrees, signal: AbortSignal): Promise<Tree> {
    signal.throwIfAborted()
    if (this.#seen?.revision.commit !== commit) this.#seen = await this.#read(signal)
    if (this.#seen.revision.commit === commit) return this.#seen.of({ commit, ...rest })
    const message = `Cannot take commit ${commit}: "${this.#source.path}" has other content now, and a folder keeps no history`
    throw new SyncError('ref-not-found', message)
  }

  /** A commit of a folder has no parents. */
  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    return from === to ? 'descends' : 'unknown'
  }

  async #read(signal: AbortSignal): Promise<FolderTree> {
    const { path, root, docs, links } = this.#source
    const { limits, blobs, hashes, clock, apart } = this.#reach
    return readFolder(path, { root, docs, limits, blobs, hashes, clock, apart, follows: links === 'follow' }, signal)
  }
}
