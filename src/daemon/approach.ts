import type { ObjectId, Revision } from '../sync/model/revision.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import type { Tree } from '../sync/model/tree.ts'
import type { KnownTrees, Relation, Upstream } from '../sync/upstream/upstream.ts'
import { leftAlone, type Hosts } from './hosts.ts'

/** What a pull heeds on its way to a source. */
export interface Manners {
  readonly source: SourceId
  readonly host: string
  readonly hosts: Hosts
  /** Resolves once there is a place to fetch. */
  readonly fetching: () => Promise<void>
}

/**
 * The way to a source, taken with manners: before each step the host is looked at, which another source may have been told to
 * leave alone meanwhile; when it asks for a pause, all its sources know at once; and nothing is fetched without a place.
 */
export class Approach implements Upstream {
  readonly #upstream: Upstream
  readonly #manners: Manners

  constructor(upstream: Upstream, manners: Manners) {
    this.#upstream = upstream
    this.#manners = manners
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    return this.#step(() => this.#upstream.resolve(signal))
  }

  async fetch(revision: Revision, known: KnownTrees, signal: AbortSignal): Promise<Tree> {
    await this.#manners.fetching()
    const tree = await this.#step(() => this.#upstream.fetch(revision, known, signal))
    return {
      revision: tree.revision,
      root: tree.root,
      proof: tree.proof,
      list: (id) => tree.list(id),
      take: (blobs, until) => this.#step(() => tree.take(blobs, until)),
      [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
    }
  }

  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    return this.#step(() => this.#upstream.relation(from, to, signal))
  }

  async #step<Result>(step: () => Promise<Result>): Promise<Result> {
    const { source, host, hosts } = this.#manners
    const closedMs = hosts.closedMs(host)
    if (closedMs > 0) throw leftAlone(source, closedMs)
    try {
      return await step()
    } catch (error) {
      if (error instanceof SyncError && error.retryAfterMs !== undefined) hosts.close(host, error.retryAfterMs)
      throw error
    }
  }
}
