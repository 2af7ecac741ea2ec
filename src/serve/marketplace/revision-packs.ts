import { MarketplacePack } from './marketplace-pack.ts'
import type { PackParts } from './marketplace-pack.ts'
import type { MarketplaceRevision } from './marketplace-revision.ts'

/** A pack that stays open until it is disposed. */
export interface OpenPack extends AsyncDisposable {
  readonly pack: MarketplacePack
}

/** The packs of one marketplace: that of the latest revision, written once for all clients. */
export class RevisionPacks implements AsyncDisposable {
  readonly #parts: PackParts
  #latest: WrittenPack | undefined
  #isDisposed = false
  /** The ids of the objects of the latest revisions, the oldest first. */
  readonly #revisions = new Map<string, ReadonlySet<string>>()

  constructor(parts: PackParts) {
    this.#parts = parts
  }

  /** Returns the pack of the revision. Throws `ContentUnavailable`. */
  async open(revision: MarketplaceRevision): Promise<OpenPack> {
    const written = this.#writtenFor(revision)
    written.readers += 1
    try {
      return { pack: await written.pack, [Symbol.asyncDispose]: async () => leave(written) }
    } catch (error) {
      await leave(written)
      throw error
    }
  }

  #writtenFor(revision: MarketplaceRevision): WrittenPack {
    const latest = this.#latest
    if (latest?.tip === revision.tip) return latest
    if (latest !== undefined) latest.readers += 1
    const next: WrittenPack = { tip: revision.tip, pack: this.#write(revision, latest), readers: 1 }
    // A request that began before the disposal is the only reader.
    if (this.#isDisposed) next.readers = 0
    if (!this.#isDisposed) this.#latest = next
    this.#remember(revision)
    next.pack.catch(() => {
      // The next attempt copies from the pack of before, and not from one that was never whole.
      if (this.#latest === next) this.#latest = undefined
    })
    return next
  }

  /** The pack of before stays open until its objects are copied, and its readers are done. */
  async #write(revision: MarketplaceRevision, before: WrittenPack | undefined): Promise<MarketplacePack> {
    try {
      const earlier = await before?.pack.catch(() => undefined)
      return await MarketplacePack.write(revision, this.#parts, earlier)
    } finally {
      if (before !== undefined) {
        await leave(before)
        await leave(before)
      }
    }
  }

  #remember({ tip, objects }: MarketplaceRevision): void {
    this.#revisions.delete(tip)
    this.#revisions.set(tip, new Set(objects.keys()))
    for (const [oldest] of this.#revisions) if (this.#revisions.size > MOST_REVISIONS) this.#revisions.delete(oldest)
  }

  /** True if this is the commit of a revision of which a pack was written lately. */
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

/** A pack, and the number of those that hold it open: its readers, and the packs while it is the latest one. */
interface WrittenPack {
  readonly tip: string
  readonly pack: Promise<MarketplacePack>
  readers: number
}

async function leave(written: WrittenPack): Promise<void> {
  written.readers -= 1
  if (written.readers > 0) return
  const pack = await written.pack.catch(() => undefined)
  await pack?.[Symbol.asyncDispose]()
}
