import { formatOf, type ObjectId, type Revision } from '../../model/revision.ts'
import type { GitSource } from '../../model/source.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { Tree } from '../../model/tree.ts'
import type { Place } from './objects/worker-protocol.ts'
import { openGitTree, relate } from './git-tree.ts'
import { chooseRef, patternsOf, refNotFound, revisionOf, revisionOfCommit, type Ref } from './objects/ref-rules.ts'
import type { KnownTrees, Reach, Relation, TreeUpstream } from '../upstream.ts'

/** How a git repository is reached. It knows no rule about refs, and keeps nothing of the repository. */
export interface GitTransport {
  /** Those of the refs that exist, in full names; see `patternsOf`. Others may be in the answer, and a tag need not be peeled. */
  list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]>
  /** The same ref, and where it is an annotated tag, what that leads to. */
  peel(ref: Ref, signal: AbortSignal): Promise<Ref>
  /** Whether there is no branch and no tag at all. */
  isEmpty(signal: AbortSignal): Promise<boolean>
  /** Where a worker finds the objects. */
  locate(signal: AbortSignal): Promise<Place>
  /** A fetch failed: what was remembered of the other side may be why. */
  forget(): void
}

/** A git repository as a source. */
export class GitUpstream implements TreeUpstream {
  readonly kind = 'tree'
  readonly #source: GitSource
  readonly #reach: Reach
  readonly #transport: GitTransport
  /** Where the host itself said that the ref leads. */
  #resolved: ObjectId | undefined

  constructor(source: GitSource, reach: Reach, transport: GitTransport) {
    this.#source = source
    this.#reach = reach
    this.#transport = transport
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    signal.throwIfAborted()
    const { ref, id } = this.#source
    const commit = revisionOfCommit(ref)
    if (commit !== undefined) return commit
    const chosen =
      chooseRef(ref, await this.#transport.list(patternsOf(ref), signal), id) ?? (await this.#again(signal))
    const revision = revisionOf(ref, await this.#transport.peel(chosen, signal))
    this.#resolved = revision.commit
    return revision
  }

  /** The ref, where a second listing has it: no listing has a checksum, and a name that is damaged on its way hides a ref. */
  async #again(signal: AbortSignal): Promise<Ref> {
    const { ref, id } = this.#source
    this.#transport.forget()
    const listing = await this.#transport.list(patternsOf(ref), signal)
    const chosen = chooseRef(ref, listing, id)
    if (chosen !== undefined) return chosen
    const isEmpty = listing.length === 0 && (await this.#transport.isEmpty(signal))
    throw refNotFound(ref, id, listing, isEmpty)
  }

  async fetch(revision: Revision, known: KnownTrees, signal: AbortSignal): Promise<Tree> {
    signal.throwIfAborted()
    try {
      const place = await this.#transport.locate(signal)
      return await openGitTree(place, revision, known, this.#reach, signal)
    } catch (cause) {
      this.#transport.forget()
      throw this.#isContradicted(revision, cause)
        ? new SyncError('source-unreachable', cause.message, { cause })
        : cause
    }
  }

  /** A host that named the commit a moment ago has it: the answer was damaged, or a replica lags. */
  #isContradicted({ commit }: Revision, cause: unknown): cause is SyncError {
    return cause instanceof SyncError && cause.code === 'ref-not-found' && commit === this.#resolved
  }

  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    if (from === to) return 'descends'
    // The parents of a commit have ids like its own.
    if (formatOf(from) !== formatOf(to)) return 'rewritten'
    try {
      return await relate(await this.#transport.locate(signal), from, to, this.#reach, signal)
    } catch (cause) {
      signal.throwIfAborted()
      if (cause instanceof SyncError) return 'unknown'
      throw cause
    }
  }
}
