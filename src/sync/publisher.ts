import { EMPTY_CATALOG, buildCatalog } from './model/catalog.ts'
import type { Catalog } from './model/catalog.ts'
import type { Generation, Held } from './model/generation.ts'
import type { Snapshot } from './model/snapshot.ts'
import type { SourceId } from './model/source-id.ts'
import { Damaged } from './model/sync-error.ts'
import type { Current } from './pull.ts'
import type { Store } from './store/store.ts'

/** What every source has now, and the one way to a new generation. For the one writer of the store. */
export class Publisher {
  readonly #store: Store
  readonly #order: readonly SourceId[]
  readonly #current: Map<SourceId, Current>
  #last: Promise<unknown> = Promise.resolve()

  private constructor(store: Store, order: readonly SourceId[], current: Map<SourceId, Current>) {
    this.#store = store
    this.#order = order
    this.#current = current
  }

  /** Starts from the generation that the store has. What it holds of sources that are no longer configured is left out. */
  static async open(store: Store, order: readonly SourceId[]): Promise<{ publisher: Publisher; catalog: Catalog }> {
    const loaded = await load(store, order)
    const current = new Map(loaded?.held.map((entry) => [entry.held.source, entry]))
    return { publisher: new Publisher(store, order, current), catalog: catalogOf(loaded) }
  }

  currentOf(source: SourceId): Current | undefined {
    return this.#current.get(source)
  }

  /**
   * Puts what a pull brought into a new generation, on the disk first. Two at once go one after the other, and one whose
   * signal is aborted when its turn comes publishes nothing; what has begun is brought to its end.
   */
  async publish(held: Held, snapshot: Snapshot, now: Date, signal: AbortSignal): Promise<Catalog> {
    const previous = this.#last
    const published = (async () => {
      await previous
      signal.throwIfAborted()
      return this.#publish(held, snapshot, now)
    })()
    // Who comes next waits for the end of this one, not for its success.
    this.#last = published.catch(() => {})
    return published
  }

  /** Resolves when all that was to be published so far is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#last
  }

  async #publish(held: Held, snapshot: Snapshot, now: Date): Promise<Catalog> {
    const next = new Map(this.#current).set(held.source, { held, snapshot })
    const inOrder = this.#order.flatMap((source) => next.get(source) ?? [])
    const generation = await this.#store.generations.publish(
      inOrder.map((entry) => entry.held),
      now,
    )
    this.#current.set(held.source, { held, snapshot })
    return buildCatalog(
      generation,
      inOrder.map((entry) => entry.snapshot),
    )
  }
}

/** The catalog of what the store has of these sources now: what a process that only reads it serves. */
export async function currentCatalog(store: Store, sources: readonly SourceId[]): Promise<Catalog> {
  return catalogOf(await load(store, sources))
}

function catalogOf(loaded: Loaded | undefined): Catalog {
  if (loaded === undefined) return EMPTY_CATALOG
  return buildCatalog(
    loaded.generation,
    loaded.held.map(({ snapshot }) => snapshot),
  )
}

interface Loaded {
  readonly generation: Generation
  readonly held: readonly Current[]
}

/** What the store has of the sources, in their order: what it holds of others is left out. */
async function load(store: Store, order: readonly SourceId[]): Promise<Loaded | undefined> {
  const generation = await store.generations.current()
  if (generation === undefined) return undefined
  const sources = order.filter((id) => generation.sources.some(({ source }) => source === id))
  const found = await Promise.all(sources.map((source) => newestOf(store, source, generation)))
  const held = found.filter((entry) => entry !== undefined)
  return { generation: { ...generation, sources: held.map((entry) => entry.held) }, held }
}

/** What the generation has of a source. Where that is damaged, what the newest one before it has: old, and told by its age. */
async function newestOf(store: Store, source: SourceId, newest: Generation): Promise<Current | undefined> {
  for (const number of await store.generations.numbers()) {
    if (number > newest.number) continue
    const generation = number === newest.number ? newest : await store.generations.read(number)
    const held = generation?.sources.find((candidate) => candidate.source === source)
    const snapshot = held && (await unlessDamaged(store.snapshots.read(held.snapshot)))
    if (held !== undefined && snapshot !== undefined) return { held, snapshot }
  }
  return undefined
}

async function unlessDamaged(reading: Promise<Snapshot>): Promise<Snapshot | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof Damaged) return undefined
    throw error
  })
}
