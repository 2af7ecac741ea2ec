import { formatOf, type ObjectId, type Revision } from '../model/revision.ts'
import type { GitSource } from '../model/source.ts'
import { CommitContradicted, mendOf, SyncError } from '../model/sync-error.ts'
import type { Tree } from '../model/tree.ts'
import type { KnownTrees, Relation, TreeUpstream } from '../upstream/upstream.ts'
import type { GitReach } from './git-reach.ts'
import { openGitTree, relate } from './git-tree.ts'
import type { GitTransport } from './objects/git-transport.ts'
import {
  chooseRef,
  patternsOf,
  patternsOfMissing,
  refNotFound,
  revisionOf,
  revisionOfCommit,
  type Ref,
} from './objects/ref-rules.ts'

/** A git repository as a source. */
export class GitUpstream implements TreeUpstream {
  readonly kind = 'tree'
  readonly #source: GitSource
  readonly #reach: GitReach
  readonly #transport: GitTransport
  /** The commit that the host itself last resolved the ref to. */
  #resolved: ObjectId | undefined

  constructor(source: GitSource, reach: GitReach, transport: GitTransport) {
    this.#source = source
    this.#reach = reach
    this.#transport = transport
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    signal.throwIfAborted()
    const { ref, id } = this.#source
    const commit = revisionOfCommit(ref)
    if (commit !== undefined) return commit
    const listing = await this.#transport.list(patternsOf(ref), signal).catch((error: unknown) => {
      throw perhapsOfPage(this.#source, error)
    })
    const chosen = chooseRef(ref, listing, id) ?? (await this.#again(signal))
    const revision = revisionOf(ref, await this.#transport.peel(chosen, signal))
    this.#resolved = revision.commit
    return revision
  }

  /**
   * Resolves the ref with a second listing: a listing has no checksum, and a name that was corrupted in transit hides a
   * ref.
   */
  async #again(signal: AbortSignal): Promise<Ref> {
    const { ref, id } = this.#source
    this.#transport.forget()
    const listing = await this.#transport.list(patternsOfMissing(this.#source), signal)
    const chosen = chooseRef(ref, listing, id)
    if (chosen !== undefined) return chosen
    const isEmpty = listing.length === 0 && (await this.#transport.isEmpty(signal))
    throw refNotFound(this.#source, listing, isEmpty)
  }

  async fetch(revision: Revision, known: KnownTrees, signal: AbortSignal): Promise<Tree> {
    signal.throwIfAborted()
    try {
      const place = await this.#transport.locate(signal)
      return await openGitTree(place, { revision, known }, this.#reach, signal)
    } catch (cause) {
      this.#transport.forget()
      throw this.#isContradicted(revision, cause) ? new CommitContradicted(cause) : cause
    }
  }

  /** True if the host named the commit just before. */
  #isContradicted({ commit }: Revision, cause: unknown): cause is SyncError {
    return cause instanceof SyncError && cause.code === 'ref-not-found' && commit === this.#resolved
  }

  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    if (from === to) return 'descends'
    // The parents of a commit have ids of its own format.
    if (formatOf(from) !== formatOf(to)) return 'rewritten'
    try {
      return await relate(await this.#transport.locate(signal), { from, to }, this.#reach, signal)
    } catch (cause) {
      signal.throwIfAborted()
      if (!(cause instanceof SyncError)) throw cause
      this.#transport.forget()
      return 'unknown'
    }
  }
}

/** Adds to the next step for a repository that is not there, if its address may be that of a page. */
function perhapsOfPage({ url }: GitSource, error: unknown): unknown {
  const isPage = /^https?:\/\/(?:[^/]+\/){3}(?:tree|blob)\/(?!.*\.git\/?$)/i.test(url)
  if (!isPage || !(error instanceof SyncError) || error.code !== 'repository-not-found') return error
  const fix = `${mendOf(error)}. If it is the address of a page, \`url\` ends before /tree/ or /blob/; what follows goes into \`ref\` and \`root\``
  return new SyncError('repository-not-found', error.message, { cause: error, fix })
}
