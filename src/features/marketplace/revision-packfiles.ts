import type { SerialQueue } from '../../base/async/serial-queue.ts'
import { MarketplacePackfile } from './marketplace-packfile.ts'
import type { PackfileParts } from './marketplace-packfile.ts'
import type { MarketplaceRevision } from './marketplace-revision.ts'
import { AGAIN_MS, ContentUnavailableError } from './read-whole.ts'

/** A pack that stays open until it is disposed. */
export interface OpenPackfile extends AsyncDisposable {
  readonly packfile: MarketplacePackfile
}

/** The packs of one marketplace: that of the latest revision, written once for all clients. */
export class RevisionPackfiles implements AsyncDisposable {
  readonly #queue: SerialQueue
  readonly #signal: AbortSignal
  #latest: SharedPackfile | undefined
  /** The last pack that could not be written. To try costs many reads, so it is not tried with each request. */
  #failed: FailedPackfile | undefined
  #isDisposed = false
  /** The ids of the objects of the latest revisions, the oldest first. */
  readonly #revisions = new Map<string, ReadonlySet<string>>()

  /** `queue`: one pack is written at a time, for all marketplaces. After `signal` none is written. */
  constructor(queue: SerialQueue, signal: AbortSignal) {
    this.#queue = queue
    this.#signal = signal
  }

  /** Returns the pack of the revision. Throws `ContentUnavailableError`. */
  async open(revision: MarketplaceRevision, parts: PackfileParts): Promise<OpenPackfile> {
    const failed = this.#failed
    if (failed?.tip === revision.tip && parts.now() < failed.againAtMs) throw failed.error
    const shared = this.#latest?.tip === revision.tip ? this.#latest : this.#begin(revision, parts)
    shared.users += 1
    try {
      return { packfile: await shared.packfile, [Symbol.asyncDispose]: async () => leave(shared) }
    } catch (error) {
      await leave(shared)
      throw error
    }
  }

  #begin(revision: MarketplaceRevision, parts: PackfileParts): SharedPackfile {
    const previous = this.#latest
    const packfile = this.#queue.next(async () => {
      const earlier = await previous?.packfile.catch(() => undefined)
      const write = async (from: MarketplacePackfile | undefined): Promise<MarketplacePackfile> =>
        MarketplacePackfile.write(revision, { ...parts, signal: this.#signal }, from)
      // An earlier pack that cannot be copied must not keep all later ones from being written.
      return write(earlier).catch((error: unknown) => {
        if (earlier === undefined || error instanceof ContentUnavailableError) throw error
        return write(undefined)
      })
    })
    // After the disposal, the request that began before it is the only user.
    const shared: SharedPackfile = { tip: revision.tip, packfile, users: this.#isDisposed ? 0 : 1 }
    if (!this.#isDisposed) this.#latest = shared
    void this.#settle(shared, previous, parts)
    this.#remember(revision)
    return shared
  }

  /** Keeps the previous pack until its objects are copied; after a failure it is the latest one again. */
  async #settle(shared: SharedPackfile, previous: SharedPackfile | undefined, { now }: PackfileParts): Promise<void> {
    try {
      await shared.packfile
    } catch (error) {
      this.#failed = { tip: shared.tip, error, againAtMs: now() + AGAIN_MS }
      if (this.#latest === shared) {
        this.#latest = previous
        return leave(shared)
      }
    }
    if (previous !== undefined) await leave(previous)
  }

  #remember({ tip, objects }: MarketplaceRevision): void {
    this.#revisions.delete(tip)
    this.#revisions.set(tip, new Set(objects.keys()))
    for (const [oldest] of this.#revisions) if (this.#revisions.size > MOST_REVISIONS) this.#revisions.delete(oldest)
  }

  /** True if this is the commit of a revision whose pack was requested lately. */
  isKnown(id: string): boolean {
    return this.#revisions.has(id)
  }

  /** Returns the objects of the revision that none of these known commits has. */
  without({ objects }: MarketplaceRevision, commits: readonly string[]): readonly string[] {
    const known = commits.flatMap((commit) => this.#revisions.get(commit) ?? [])
    return [...objects.keys()].filter((id) => !known.some((ids) => ids.has(id)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const latest = this.#latest
    this.#latest = undefined
    this.#isDisposed = true
    if (latest !== undefined) await leave(latest)
  }
}

/** The revisions that a client may have, and is then sent the difference to. */
const MOST_REVISIONS = 8

interface FailedPackfile {
  readonly tip: string
  readonly error: unknown
  readonly againAtMs: number
}

/** A pack, and the number of its users: the requests that read it, and its place as the latest one. */
interface SharedPackfile {
  readonly tip: string
  readonly packfile: Promise<MarketplacePackfile>
  users: number
}

/** Closes the file after its last user. An error of that harms no client. */
async function leave(shared: SharedPackfile): Promise<void> {
  shared.users -= 1
  if (shared.users > 0) return
  await shared.packfile.then((packfile) => packfile[Symbol.asyncDispose]()).catch(() => {})
}
