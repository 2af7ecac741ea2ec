import { atOnce, stepByStep, type Steps } from '../../base/cooperative.ts'
import { SerialQueue } from '../../base/serial-queue.ts'
import { catalogAfter } from '../catalog/catalog-update.ts'
import { EMPTY_CATALOG, buildingCatalog } from '../catalog/catalog.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { pendingIn } from '../decisions/approvals.ts'
import type { Approvals } from '../decisions/approvals.ts'
import type { Decisions } from '../decisions/decisions.ts'
import { findingDisabled, withoutDisabledDocs } from '../decisions/disabled-matches.ts'
import type { Disabled, DisabledSkills } from '../decisions/disabled-skills.ts'
import type { GenerationCause, Generation } from '../model/generation.ts'
import type { Snapshot, Current } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { DecisionStore } from '../store/decisions.ts'
import type { SourceRecord } from '../store/source-records.ts'
import type { Store } from '../store/store.ts'

/** The checks that stored content must pass before it is served. */
export interface Admission {
  /** True if a snapshot may be served, by the lock, the signatures and the operator's decisions. */
  readonly admits: (snapshot: Snapshot, decisions: Decisions) => Promise<boolean>
  /** Sources whose skills each wait for approval. */
  readonly reviewed: ReadonlySet<SourceId>
}

/** The new state of each changed source; `undefined`: nothing. */
export type Changed = ReadonlyMap<SourceId, Current | undefined>

/** A source whose last served content was lost from the disk. */
export interface Loss {
  readonly source: SourceId
  /** The snapshot of an older generation that is served instead; `undefined` if there is none. */
  readonly instead: Snapshot | undefined
}

/** The current state of every source, and the only way to a new generation. For the single writer of the store. */
export class Publisher {
  readonly #store: Store
  readonly #order: readonly SourceId[]
  readonly #reviewed: ReadonlySet<SourceId>
  #current: ReadonlyMap<SourceId, Current>
  #generation: Generation | undefined
  #lost: readonly Loss[]
  /** The last built catalog, whatever was decided since. */
  #before: Catalog = EMPTY_CATALOG
  #built: { readonly disabled: DisabledSkills; readonly approvals: Approvals; readonly catalog: Catalog } | undefined
  readonly #queue = new SerialQueue()

  private constructor(
    store: Store,
    order: readonly SourceId[],
    reviewed: ReadonlySet<SourceId>,
    { loaded, lost }: { readonly loaded: Loaded | undefined; readonly lost: readonly Loss[] },
  ) {
    this.#store = store
    this.#order = order
    this.#reviewed = reviewed
    this.#current = new Map(loaded?.held.map((entry) => [entry.held.source, entry]))
    this.#generation = loaded?.generation
    this.#lost = lost
  }

  /**
   * Starts from the stored generation. Content of sources that are no longer configured is left out. Content that is
   * not admitted is left out too: `refused` names those sources, for a generation without them. `lostBefore`: known
   * losses that a later generation no longer records.
   */
  static async open(
    store: Store,
    order: readonly SourceId[],
    admission: Admission,
    lostBefore: readonly Loss[] = [],
  ): Promise<{ publisher: Publisher; catalog: Catalog; refused: readonly SourceId[] }> {
    const loaded = await load(store, order, admission)
    const found = loaded?.lost ?? (await everServed(store, order))
    const known = new Set([...found, ...(loaded?.held.map(({ held }) => held) ?? [])].map(({ source }) => source))
    const isLost = ({ source }: Loss): boolean => order.includes(source) && !known.has(source)
    const lost = [...found, ...lostBefore.filter(isLost)]
    const publisher = new Publisher(store, order, admission.reviewed, { loaded, lost })
    await publisher.#build()
    return { publisher, catalog: publisher.catalog, refused: loaded?.refused ?? [] }
  }

  /**
   * The catalog to serve: the newest generation, without skills that are currently disabled or not approved. Empty as
   * long as the disabled skills were never known: any skill may be disabled.
   */
  get catalog(): Catalog {
    const { disabled, approvals, areUnknown } = this.#store.decisions
    if (areUnknown) return EMPTY_CATALOG
    if (this.#built?.disabled === disabled && this.#built.approvals === approvals) return this.#built.catalog
    return this.#keep(atOnce(this.#building()), { disabled, approvals })
  }

  /** `catalog`, made in slices if it is not built yet. After a decision meanwhile, it is made at once. */
  async readied(): Promise<Catalog> {
    const { disabled, approvals } = this.#store.decisions
    if (this.#built?.disabled !== disabled || this.#built.approvals !== approvals) await this.#build()
    return this.catalog
  }

  /**
   * Builds the catalog in slices before it is requested, so that clients are served meanwhile. A decision meanwhile
   * requires a new build.
   */
  async #build(): Promise<void> {
    const { disabled, approvals, areUnknown } = this.#store.decisions
    if (areUnknown) return
    const generation = this.#generation
    const catalog = await stepByStep(this.#building())
    // A generation that was published meanwhile is built by its publisher.
    if (generation === this.#generation) this.#keep(catalog, { disabled, approvals })
  }

  #building(): Steps<Catalog> {
    return catalogOf(
      this.#generation,
      this.#inOrder(this.#current),
      this.#store.decisions,
      this.#reviewed,
      this.#before,
    )
  }

  #keep(catalog: Catalog, decided: { readonly disabled: DisabledSkills; readonly approvals: Approvals }): Catalog {
    this.#built = { ...decided, catalog }
    this.#before = catalog
    return catalog
  }

  /** The sources whose served content was lost from the disk, and that were not published since. */
  get lost(): readonly Loss[] {
    return this.#lost
  }

  currentOf(source: SourceId): Current | undefined {
    return this.#current.get(source)
  }

  /**
   * Puts the changes into a new generation, on the disk first. Concurrent calls run one after the other. A call whose
   * signal is aborted when its turn comes publishes nothing; work that has begun is finished.
   */
  async publish(changed: Changed, cause: GenerationCause, now: Date, signal: AbortSignal): Promise<Catalog> {
    return this.#inTurn(signal, async () => this.#publish(changed, cause, now))
  }

  /**
   * If the disk lost the served content of a source, or the record of the served generation, writes it again from
   * memory, in a new generation. Returns true if it was lost.
   */
  async mend(source: SourceId, cause: GenerationCause, now: Date, signal: AbortSignal): Promise<boolean> {
    // Runs in turn, since the disk is ahead of the memory during a publication.
    return this.#inTurn(signal, async () => {
      const { generations, snapshots } = this.#store
      const current = this.#current.get(source)
      const isKept = current === undefined || (await snapshots.isWhole(current.held.snapshot))
      if (isKept && (this.#generation === undefined || (await generations.isServed(this.#generation)))) return false
      await this.#publish(new Map(), cause, now)
      return true
    })
  }

  /**
   * Applies `change` to the snapshot that the source has when its turn comes, and puts the result into a new
   * generation. Returns false if that is the same snapshot; nothing is written then.
   */
  async amend(
    source: SourceId,
    change: (snapshot: Snapshot) => Promise<Snapshot>,
    cause: GenerationCause,
    now: Date,
  ): Promise<boolean> {
    return this.#inTurn(NEVER, async () => {
      const before = this.#current.get(source)?.snapshot
      const snapshot = before && (await change(before))
      if (snapshot === undefined || snapshot === before) return false
      const held = { source, snapshot: await this.#store.snapshots.keep(snapshot) }
      await this.#publish(new Map([[source, { held, snapshot }]]), cause, now)
      return true
    })
  }

  /**
   * The served content of the source, written to the disk again if it was lost there: otherwise no generation can name
   * it.
   */
  async #kept(current: Current): Promise<Current> {
    const { snapshots } = this.#store
    const { held, snapshot } = current
    if (await snapshots.isWhole(held.snapshot)) return current
    return { held: { ...held, snapshot: await snapshots.keep(snapshot) }, snapshot }
  }

  async #inTurn<Done>(signal: AbortSignal, work: () => Promise<Done>): Promise<Done> {
    return this.#queue.next(work, signal)
  }

  /** Resolves when everything that was to be published so far is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#queue.idle()
  }

  async #publish(changed: Changed, cause: GenerationCause, now: Date): Promise<Catalog> {
    const next = new Map<SourceId, Current>()
    // The caller has stored a changed source. The loss of another source must not block it.
    for (const [source, current] of this.#current) if (!changed.has(source)) next.set(source, await this.#kept(current))
    for (const [source, current] of changed) {
      if (current === undefined) next.delete(source)
      else next.set(source, current)
    }
    const held = this.#inOrder(next).map((entry) => entry.held)
    const lost = this.#lost.filter(({ source }) => !changed.has(source))
    const missing = lost.map(({ source }) => source).filter((source) => !next.has(source))
    this.#generation = await this.#store.generations.publish(held, now, { cause, lost: missing })
    this.#current = next
    this.#lost = lost
    this.#built = undefined
    await this.#build()
    return this.catalog
  }

  #inOrder(current: ReadonlyMap<SourceId, Current>): Current[] {
    return this.#order.flatMap((source) => current.get(source) ?? [])
  }
}

const NEVER = new AbortController().signal

/**
 * The catalog of these sources from the current store, for a process that only reads it. It uses the disabled skills as
 * this process last read them; if it tried to and never could, nothing is served.
 */
export async function currentCatalog(
  store: Store,
  sources: readonly SourceId[],
  admission: Admission,
): Promise<Catalog> {
  return (await currentState(store, sources, admission)).catalog
}

/** `currentCatalog`, with the sources whose served content was lost from the disk. */
export async function currentState(
  store: Store,
  sources: readonly SourceId[],
  admission: Admission,
): Promise<{ readonly catalog: Catalog; readonly lost: readonly Loss[] }> {
  if (store.decisions.areUnknown) return { catalog: EMPTY_CATALOG, lost: [] }
  const loaded = await load(store, sources, admission)
  const catalog = catalogOf(loaded?.generation, loaded?.held ?? [], store.decisions, admission.reviewed)
  return { catalog: await stepByStep(catalog), lost: loaded?.lost ?? (await everServed(store, sources)) }
}

/**
 * The catalog of an earlier generation; `undefined` if it is no longer whole. `sources`: its sources, each with the
 * skills that were disabled. If that is unknown, all sources, without the skills that are disabled now.
 */
export async function pastCatalog(
  store: Store,
  number: number,
  sources?: readonly (readonly string[])[],
): Promise<Catalog | undefined> {
  if (number === 0) return EMPTY_CATALOG
  const generation = await store.generations.read(number)
  if (generation === undefined) return undefined
  const told = new Map(sources?.map(([id = '', ...paths]) => [id, new Set(paths)]))
  const held =
    sources?.flatMap(([id]) => generation.sources.filter(({ source }) => source === id)) ?? generation.sources
  const snapshots: Snapshot[] = []
  for (const { snapshot: digest } of held) {
    const snapshot = await store.snapshots.readWhole(digest)
    if (snapshot === undefined) return undefined
    snapshots.push(snapshot)
  }
  return stepByStep(pastOf({ ...generation, sources: held }, snapshots, store.decisions.disabled, told))
}

function* pastOf(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: DisabledSkills,
  told: ReadonlyMap<string, ReadonlySet<string>>,
): Steps<Catalog> {
  const hidden = new Map<SourceId, ReadonlySet<string>>()
  for (const snapshot of snapshots) {
    const { source } = snapshot
    hidden.set(source, told.get(source) ?? new Set((yield* findingDisabled(snapshot, disabled)).keys()))
  }
  return yield* buildingCatalog(generation, snapshots, hidden)
}

function* catalogOf(
  generation: Generation | undefined,
  held: readonly Current[],
  decided: Pick<DecisionStore, 'disabled' | 'approvals'>,
  reviewed: ReadonlySet<SourceId>,
  before: Catalog = EMPTY_CATALOG,
): Steps<Catalog> {
  if (generation === undefined) return EMPTY_CATALOG
  const snapshots = held.map(({ snapshot }) => withoutDisabledDocs(snapshot, decided.disabled))
  return yield* catalogAfter(before, generation, snapshots, yield* hidingIn(snapshots, decided, reviewed))
}

/** The skills that exist but are not served: disabled, or waiting for approval. */
function* hidingIn(
  snapshots: readonly Snapshot[],
  { disabled, approvals }: Pick<DecisionStore, 'disabled' | 'approvals'>,
  reviewed: ReadonlySet<SourceId>,
): Steps<Disabled> {
  const hidden = new Map<SourceId, ReadonlySet<string>>()
  for (const snapshot of snapshots) {
    const { source } = snapshot
    const matches = yield* findingDisabled(snapshot, disabled)
    const pending = reviewed.has(source) ? pendingIn(snapshot, approvals).map(({ path }) => path) : []
    const paths = [...matches.keys(), ...pending]
    if (paths.length > 0) hidden.set(source, new Set(paths.toSorted()))
  }
  return hidden
}

interface Loaded {
  readonly generation: Generation
  readonly held: readonly Current[]
  /** The sources with content that is not admitted. */
  readonly refused: readonly SourceId[]
  readonly lost: readonly Loss[]
}

/** The sources of which something was served, by their records, in a store without a readable generation. */
async function everServed(store: Store, order: readonly SourceId[]): Promise<readonly Loss[]> {
  const records = await Promise.all(order.map(async (source) => ({ source, record: await store.records.read(source) })))
  return records.flatMap(({ source, record }) => (wasServed(record) ? [withNothing(source)] : []))
}

function withNothing(source: SourceId): Loss {
  return { source, instead: undefined }
}

/** A check that succeeded may have found content that waits for its first approval. */
function wasServed(record: SourceRecord | undefined): boolean {
  if (record?.followed !== undefined) return true
  return record?.lastSuccess !== undefined && record.condition === undefined
}

/** Loads the stored content of the sources, in their order; content of other sources is left out. */
async function load(store: Store, order: readonly SourceId[], admission: Admission): Promise<Loaded | undefined> {
  for (let loads = 1; ; loads += 1) {
    const generation = await store.generations.newest()
    if (generation === undefined) return undefined
    const { isWhole, ...loaded } = await loadOf({ store, generation }, order, admission)
    if (isWhole || loads === MOST_LOADS) return loaded
    // Missing content can have been collected meanwhile only if another generation is served by now; otherwise it is
    // damage.
    if ((await store.generations.newest())?.number === generation.number) return loaded
  }
}

/** If another process publishes and collects as fast as this reads, nothing exists for long enough. */
const MOST_LOADS = 8

async function loadOf(
  { store, generation }: { readonly store: Store; readonly generation: Generation },
  order: readonly SourceId[],
  { admits }: Admission,
): Promise<Loaded & { readonly isWhole: boolean }> {
  const sources = order.filter((id) => generation.sources.some(({ source }) => source === id))
  const held: Current[] = []
  const refused: SourceId[] = []
  const lost: Loss[] = []
  const all = await Promise.all(
    sources.map(async (source) => ({ source, found: await newestOf(store, source, generation) })),
  )
  for (const { source, found } of all) {
    const isLost = found === undefined || !generation.sources.includes(found.held)
    if (isLost) lost.push({ source, instead: found?.snapshot })
    if (found === undefined) continue
    if (await admits(found.snapshot, store.decisions.known)) held.push(found)
    else refused.push(found.held.source)
  }
  const served = { ...generation, sources: held.map((entry) => entry.held) }
  const isWhole = lost.length === 0
  const before = order.filter((id) => generation.lost?.includes(id) && !sources.includes(id))
  return { generation: served, held, refused, lost: [...lost, ...before.map(withNothing)], isWhole }
}

/**
 * The content that the generation has of a source. If it is damaged, that of the newest generation before: it is old,
 * and its age shows that.
 */
async function newestOf(store: Store, source: SourceId, newest: Generation): Promise<Current | undefined> {
  for (const number of await store.generations.numbers()) {
    if (number > newest.number) continue
    const generation = number === newest.number ? newest : await store.generations.read(number)
    const held = generation?.sources.find((candidate) => candidate.source === source)
    const snapshot = held && (await store.snapshots.readWhole(held.snapshot))
    if (held !== undefined && snapshot !== undefined) return { held, snapshot }
  }
  return undefined
}
