import type { ObjectId, Revision } from '../../model/revision.ts'
import type { DirectorySource } from '../../model/source.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { Tree } from '../../model/tree.ts'
import { readFolder, type FolderTree } from './folder-tree.ts'
import type { KnownTrees, Reach, Relation, TreeUpstream } from '../upstream.ts'

/** A plain folder as a source: what lies in it now is its only commit. */
export class DirectoryUpstream implements TreeUpstream {
  readonly kind = 'tree'
  readonly #source: DirectorySource
  readonly #reach: Reach
  /** What the last look found, for the fetch that follows it. */
  #seen: FolderTree | undefined

  constructor(source: DirectorySource, reach: Reach) {
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
    const message = `Cannot take commit ${commit}: "${this.#source.path}" holds something else now, and a folder keeps nothing of before`
    throw new SyncError('ref-not-found', message)
  }

  /** No commit of a folder names another. */
  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    return from === to ? 'descends' : 'unknown'
  }

  async #read(signal: AbortSignal): Promise<FolderTree> {
    const { path, root, docs, links } = this.#source
    const { limits, scratch, hashes, clock, apart } = this.#reach
    return readFolder(path, { root, docs, limits, scratch, hashes, clock, apart, follows: links === 'follow' }, signal)
  }
}
