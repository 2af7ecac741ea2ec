import { CANCELED, ignoreAbort } from '../../base/async/abort-error.ts'
import { systemClock } from '../../base/async/clock.ts'
import type { Clock } from '../../base/async/clock.ts'
import { runNow, runInSlices, type Steps } from '../../base/async/cooperative.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { EMPTY_CATALOG } from '../catalog/catalog.ts'
import type { Catalog, Catalogs } from '../catalog/catalog.ts'
import type { Approvals } from '../model/decisions/approvals.ts'
import type { OutOfService } from '../model/decisions/out-of-service.ts'
import type { GenerationCause, Generation } from '../model/generation.ts'
import type { Snapshot, ServedSource } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import type { Store } from '../store/store.ts'
import { catalogOf } from './generation-catalog.ts'
import type { CatalogAdmission } from './generation-catalog.ts'
import { everServed, loadGeneration } from './load-generation.ts'
import type { Admission, LoadedGeneration, LostSource } from './load-generation.ts'
import {
  heldInRing,
  loadRings,
  promoteRings,
  ringsAfterChange,
  ringStatesOf,
  SAME_CONTENTS,
  withoutLost,
} from './rings/ring-contents.ts'
import type { PromotionRules, RingContents, RingPolicy, RingPromotion } from './rings/ring-contents.ts'

/** The new state of each changed source; `undefined`: nothing. */
export type Changed = ReadonlyMap<SourceId, ServedSource | undefined>

/** The conditions of one publication. */
export interface PublicationTerms {
  /** If it is aborted when the turn of the publication comes, nothing is published. */
  readonly signal: AbortSignal
  /**
   * Called in the turn of the publication; `served`: what is served by then, and what the same generation adds before it.
   * If it rejects, nothing is published, and the publication rejects with that error.
   */
  readonly admit?: (served: () => readonly ServedSource[]) => Promise<void>
}

/** One call of `publish`. */
interface Publication extends PublicationTerms {
  readonly changed: Changed
  readonly cause: GenerationCause
  readonly now: Date
  readonly resolve: (catalog: Catalog) => void
  readonly reject: (error: unknown) => void
}

/** The current state of every source, and the only way to a new generation. For the single writer of the store. */
export class Publisher {
  readonly #store: Store
  readonly #order: readonly SourceId[]
  readonly #admission: CatalogAdmission
  readonly #policy: RingPolicy | undefined
  #current: ReadonlyMap<SourceId, ServedSource>
  #rings: RingContents
  #generation: Generation | undefined
  #lost: readonly LostSource[]
  /** The last built catalogs, whatever was decided since. */
  #before: Catalogs = new Map()
  #built: (Decided & { readonly catalogs: Catalogs }) | undefined
  readonly #queue = new SerialQueue()
  readonly #clock: Clock
  /** The time from which the next generation of plain updates is made, on the monotonic clock. */
  #restedMs = 0
  #endRest: () => void = () => {}
  /** The number of amendments whose turn has not come. */
  #amending = 0
  /** The publications whose turn has not come, in their order. */
  #waiting: readonly Publication[] = []

  private constructor(
    store: Store,
    order: readonly SourceId[],
    admission: Admission,
    { loaded, lost, rings, clock }: LoadedState,
  ) {
    this.#clock = clock
    this.#store = store
    this.#order = order
    this.#admission = admission
    this.#policy = admission.rings
    this.#rings = rings
    this.#current = new Map(loaded?.held.map((entry) => [entry.held.source, entry]))
    this.#generation = loaded?.generation
    this.#lost = lost
  }

  /**
   * Starts from the stored generation. Content of sources that are no longer configured is left out. Content that is
   * not admitted is left out too: `refused` names those sources, for a generation without them. `lostBefore`: known
   * losses that a later generation no longer records. `clock`: for the rest between publications.
   */
  static async open(
    store: Store,
    order: readonly SourceId[],
    admission: Admission,
    {
      lostBefore = [],
      clock = systemClock,
    }: { readonly lostBefore?: readonly LostSource[]; readonly clock?: Clock } = {},
  ): Promise<{ publisher: Publisher; catalog: Catalog; refused: readonly SourceId[] }> {
    const loaded = await loadGeneration(store, order, admission)
    const found = loaded?.lost ?? (await everServed(store, order))
    const known = new Set([...found, ...(loaded?.held.map(({ held }) => held) ?? [])].map(({ source }) => source))
    const isLost = ({ source }: LostSource): boolean => order.includes(source) && !known.has(source)
    const lost = [...found, ...lostBefore.filter(isLost)]
    const rings = await ringsOf(loaded, store, admission.rings)
    const publisher = new Publisher(store, order, admission, { loaded, lost, rings, clock })
    await publisher.#build()
    return { publisher, catalog: publisher.catalog, refused: loaded?.refused ?? [] }
  }

  /** The catalog of the first ring, or of everything without rings. */
  get catalog(): Catalog {
    return this.catalogs.get(undefined) ?? EMPTY_CATALOG
  }

  /**
   * The catalogs to serve: the newest generation as each ring has it, without skills that are currently disabled or not
   * approved. Empty as long as the disabled skills were never known: any skill may be disabled.
   */
  get catalogs(): Catalogs {
    const { outOfService, approvals, areUnknown } = this.#store.decisions
    if (areUnknown) return new Map(this.#ringIds.map((ring) => [ring, EMPTY_CATALOG]))
    if (this.#built?.outOfService === outOfService && this.#built.approvals === approvals) return this.#built.catalogs
    return this.#keep(runNow(this.#catalogSteps()), { outOfService, approvals })
  }

  /** `catalogs`, made in slices if they are not built yet. After a decision meanwhile, they are made at once. */
  async readied(): Promise<Catalogs> {
    const { outOfService, approvals } = this.#store.decisions
    if (this.#built?.outOfService !== outOfService || this.#built.approvals !== approvals) await this.#build()
    return this.catalogs
  }

  /**
   * Builds the catalog in slices before it is requested, so that clients are served meanwhile. A decision meanwhile
   * requires a new build.
   */
  async #build(): Promise<void> {
    const { outOfService, approvals, areUnknown } = this.#store.decisions
    if (areUnknown) return
    const generation = this.#generation
    const catalogs = await runInSlices(this.#catalogSteps())
    // A generation that was published meanwhile is built by its publisher.
    if (generation === this.#generation) this.#keep(catalogs, { outOfService, approvals })
  }

  *#catalogSteps(): Steps<Catalogs> {
    const first = this.#inOrder(this.#current)
    const built = new Map<string | undefined, Catalog>()
    for (const ring of this.#ringIds) {
      const held = heldInRing(ring, first, this.#rings)
      const isFirst = held.length === first.length && held.every((current, index) => current === first[index])
      const before = this.#before.get(ring) ?? this.#before.get(undefined) ?? EMPTY_CATALOG
      built.set(ring, (isFirst ? built.get(undefined) : undefined) ?? (yield* this.#catalogOf(held, before)))
    }
    return built
  }

  #catalogOf(held: readonly ServedSource[], before: Catalog): Steps<Catalog> {
    const generation = this.#generation && { ...this.#generation, sources: held.map((current) => current.held) }
    return catalogOf({ generation, held, decided: this.#store.decisions, admission: this.#admission, before })
  }

  /** The first ring has no id here: it is everything where there are no rings. */
  get #ringIds(): readonly (string | undefined)[] {
    return [undefined, ...(this.#policy?.rings.slice(1).map(({ id }) => id) ?? [])]
  }

  #keep(catalogs: Catalogs, decided: Decided): Catalogs {
    this.#built = { ...decided, catalogs }
    this.#before = catalogs
    return catalogs
  }

  /** The content of the rings, where it differs from that of the first ring. */
  get rings(): RingContents {
    return this.#rings
  }

  /** The content that some ring after the first serves in place of that of the first. */
  get heldInRings(): readonly ServedSource[] {
    const first = this.#inOrder(this.#current)
    const held = this.#ringIds.flatMap((ring) => heldInRing(ring, first, this.#rings))
    return [...new Map(held.map((current) => [current.held.snapshot, current])).values()].filter(
      (current) => !first.includes(current),
    )
  }

  /**
   * Has each ring take what it may of the ring before it, in a new generation; without a promotion, nothing is written.
   * Returns the promotions.
   */
  async promote(rules: PromotionRules, cause: GenerationCause): Promise<readonly RingPromotion[]> {
    const policy = this.#policy
    if (policy === undefined || this.#rings.trails.size === 0) return []
    return this.#inTurn(NEVER, async () => {
      const at = { policy, store: this.#store }
      const { contents, promotions } = await promoteRings(this.#rings, this.#current, at, rules)
      if (promotions.length === 0) return []
      const [first] = promotions
      const isOne = new Set(promotions.map(({ source }) => source)).size === 1
      const named = isOne && first !== undefined ? { ...cause, source: first.source } : cause
      await this.#publish(new Map(), named, rules.now, contents)
      return promotions
    })
  }

  /** The sources whose served content was lost from the disk, and that were not published since. */
  get lost(): readonly LostSource[] {
    return this.#lost
  }

  currentOf(source: SourceId): ServedSource | undefined {
    return this.#current.get(source)
  }

  /**
   * Puts the changes into a new generation, on the disk first. Calls that wait while another one runs share a generation
   * if they differ in nothing but their sources. Between plain updates is a rest as long as the publication before, 1 s
   * at most, so that many sources cost few generations. Work that has begun is finished, also if its signal is aborted.
   */
  async publish(changed: Changed, cause: GenerationCause, now: Date, terms: PublicationTerms): Promise<Catalog> {
    const { promise, resolve, reject } = Promise.withResolvers<Catalog>()
    this.#waiting = [...this.#waiting, { ...terms, changed, cause, now, resolve, reject }]
    if (!isPlainUpdate(cause)) this.#endRest()
    // It never rejects. A call that is published with an earlier one leaves its turn to the next.
    void this.#queue.next(async () => this.#publishWaiting())
    return promise
  }

  async #publishWaiting(): Promise<void> {
    if (this.#waiting.length === 0) return
    const isUrgent = this.#amending > 0 || !this.#waiting.every(({ cause }) => isPlainUpdate(cause))
    if (!isUrgent) await this.#rest()
    const startMs = this.#clock.monotonicMs()
    await this.#publishNext()
    const endMs = this.#clock.monotonicMs()
    this.#restedMs = endMs + Math.min(LONGEST_REST_MS, endMs - startMs)
  }

  async #rest(): Promise<void> {
    const restMs = this.#restedMs - this.#clock.monotonicMs()
    if (restMs <= 0) return
    const rest = new AbortController()
    this.#endRest = () => rest.abort(CANCELED)
    await this.#clock.wait(restMs, rest.signal).catch(ignoreAbort)
  }

  async #publishNext(): Promise<void> {
    const { together: next, rest } = nextOf(this.#waiting)
    this.#waiting = rest
    const together = await this.#admitted(next)
    const [first] = together
    if (first === undefined) return
    const changed = new Map(together.flatMap((publication) => [...publication.changed]))
    try {
      const catalog = await this.#leased(async () => this.#publish(changed, causeOf(first, together.length), first.now))
      for (const { resolve } of together) resolve(catalog)
    } catch (error) {
      if (together.length === 1) return first.reject(error)
      // One of them may be the reason, which must not keep the others out of service.
      for (const publication of together) await this.#publishAlone(publication)
    }
  }

  /** Rejects those that may not be published beside what is served and those before them, and returns the others. */
  async #admitted(together: readonly Publication[]): Promise<readonly Publication[]> {
    const admitted: Publication[] = []
    const next = new Map(this.#current)
    for (const publication of together) {
      try {
        await publication.admit?.(() => this.#inOrder(next))
        change(next, publication.changed)
        admitted.push(publication)
      } catch (error) {
        publication.reject(error)
      }
    }
    return admitted
  }

  async #publishAlone({ changed, cause, now, resolve, reject }: Publication): Promise<void> {
    await this.#leased(async () => this.#publish(changed, cause, now)).then(resolve, reject)
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
      const ofRings = this.heldInRings.filter(({ held }) => held.source === source)
      const areKept = (await snapshots.missing(ofRings.map(({ held }) => held.snapshot))).length === 0
      if (isKept && areKept && (this.#generation === undefined || (await generations.isServed(this.#generation))))
        return false
      const changed = isKept ? [] : [[source, await this.#storedAgain(current)] as const]
      await this.#publish(new Map(changed), cause, now)
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
    this.#amending += 1
    this.#endRest()
    return this.#inTurn(NEVER, async () => {
      this.#amending -= 1
      const before = this.#current.get(source)?.snapshot
      const snapshot = before && (await change(before))
      if (snapshot === undefined || snapshot === before) return false
      const held = { source, snapshot: await this.#store.snapshots.keep(snapshot) }
      await this.#publish(new Map([[source, { held, snapshot }]]), cause, now)
      return true
    })
  }

  /** Takes over the head of the store, which another process has published. What it lacks is lost until it comes again. */
  async adopt(admission: Admission): Promise<void> {
    await this.#inTurn(NEVER, async () => {
      const loaded = await loadGeneration(this.#store, this.#order, admission, this.#current)
      if (loaded === undefined) return
      this.#rings = await ringsOf(loaded, this.#store, this.#policy, this.#rings)
      this.#current = new Map(loaded.held.map((entry) => [entry.held.source, entry]))
      this.#generation = loaded.generation
      this.#lost = loaded.lost
      this.#built = undefined
      await this.#build()
    })
  }

  /** Returns the unchanged sources whose snapshots the store has lost. */
  async #missing(changed: Changed): Promise<readonly ServedSource[]> {
    const unchanged = [...this.#current.values()].filter(({ held }) => !changed.has(held.source))
    const missing = new Set(await this.#store.snapshots.missing(unchanged.map(({ held }) => held.snapshot)))
    return missing.size === 0 ? [] : unchanged.filter(({ held }) => missing.has(held.snapshot))
  }

  /** Writes the served content of a source to the disk again: otherwise no generation can name it. */
  async #storedAgain({ held, snapshot }: ServedSource): Promise<ServedSource> {
    return { held: { ...held, snapshot: await this.#store.snapshots.keep(snapshot) }, snapshot }
  }

  /** Writes the served content of the rings again where the store has lost it, and leaves out what no ring serves. */
  async #stored(rings: RingContents): Promise<RingContents> {
    const digests = [...rings.trails.values()].flatMap(({ steps }) => steps.map(({ snapshot }) => snapshot))
    const missing = new Set(await this.#store.snapshots.missing([...new Set(digests)]))
    for (const digest of missing) {
      const snapshot = rings.served.get(digest)
      if (snapshot !== undefined && (await this.#store.snapshots.keep(snapshot)) === digest) missing.delete(digest)
    }
    return withoutLost(rings, missing)
  }

  async #inTurn<Done>(signal: AbortSignal, work: () => Promise<Done>): Promise<Done> {
    return this.#queue.next(async () => this.#leased(work), signal)
  }

  /** Runs work that stores snapshots: they are named by nothing until the generation is published. */
  async #leased<Done>(work: () => Promise<Done>): Promise<Done> {
    using _lease = this.#store.objects.lease()
    return await work()
  }

  /** Resolves when everything that was to be published so far is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#queue.idle()
  }

  async #publish(
    changed: Changed,
    cause: GenerationCause,
    now: Date,
    promoted: RingContents = this.#rings,
  ): Promise<Catalog> {
    const kept = new Map(this.#current)
    // The caller has stored a changed source. The loss of another source must not block it.
    for (const current of await this.#missing(changed)) kept.set(current.held.source, await this.#storedAgain(current))
    const next = withChanges(kept, changed)
    const held = this.#inOrder(next).map((entry) => entry.held)
    const lost = this.#lost.filter(({ source }) => !changed.has(source))
    const missing = lost.map(({ source }) => source).filter((source) => !next.has(source))
    const at = now.toISOString()
    const heldAt = this.#generation?.createdAt
    const change = { before: this.#current, after: next, changed: changed.keys(), action: cause.action, heldAt, at }
    const rings = this.#policy && (await this.#stored(ringsAfterChange(promoted, change, this.#policy)))
    const states = rings && this.#policy && ringStatesOf(rings, this.#policy, this.#order)
    const known = new Map(
      [...this.#current.values(), ...next.values()].map((one) => [one.held.snapshot, one.snapshot] as const),
    )
    const more = { cause, lost: missing, known, ...(states && { rings: states }) }
    this.#generation = await this.#store.generations.publish(held, now, more)
    this.#current = next
    this.#rings = rings ?? SAME_CONTENTS
    this.#lost = lost
    this.#built = undefined
    await this.#build()
    return this.catalog
  }

  #inOrder(current: ReadonlyMap<SourceId, ServedSource>): ServedSource[] {
    return this.#order.flatMap((source) => current.get(source) ?? [])
  }
}

interface Decided {
  readonly outOfService: OutOfService
  readonly approvals: Approvals
}

interface LoadedState {
  readonly loaded: LoadedGeneration | undefined
  readonly lost: readonly LostSource[]
  readonly rings: RingContents
  readonly clock: Clock
}

function withChanges(
  current: ReadonlyMap<SourceId, ServedSource>,
  changed: Changed,
): ReadonlyMap<SourceId, ServedSource> {
  const next = new Map(current)
  change(next, changed)
  return next
}

function change(current: Map<SourceId, ServedSource>, changed: Changed): void {
  for (const [source, changedTo] of changed) {
    if (changedTo === undefined) current.delete(source)
    else current.set(source, changedTo)
  }
}

async function ringsOf(
  loaded: LoadedGeneration | undefined,
  store: Store,
  policy: RingPolicy | undefined,
  known?: RingContents,
): Promise<RingContents> {
  if (loaded === undefined || policy === undefined) return SAME_CONTENTS
  return loadRings(loaded.generation, policy, store, known)
}

/**
 * Takes the publications that the next generation has: from the first on, as far as they can share one. Those that were
 * aborted are rejected and left out.
 */
function nextOf(waiting: readonly Publication[]): {
  readonly together: readonly Publication[]
  readonly rest: readonly Publication[]
} {
  const together: Publication[] = []
  for (const [index, publication] of waiting.entries()) {
    if (publication.signal.aborted) publication.reject(publication.signal.reason)
    else if (together.every((earlier) => canShare(earlier, publication))) together.push(publication)
    else return { together, rest: waiting.slice(index) }
  }
  return { together, rest: [] }
}

/** True if one generation can have both: what is rolled back, withdrawn or rewritten has one of its own in the history. */
function canShare(one: Publication, other: Publication): boolean {
  const areUpdates = isPlainUpdate(one.cause) && isPlainUpdate(other.cause)
  if (!areUpdates || one.cause.trigger !== other.cause.trigger) return false
  return ![...other.changed.keys()].some((source) => one.changed.has(source))
}

function isPlainUpdate({ action, rewritten }: GenerationCause): boolean {
  return action === 'update' && rewritten !== true
}

/** The cause of a generation that so many publications share. */
function causeOf({ cause }: Publication, count: number): GenerationCause {
  const { action, trigger } = cause
  return count === 1 ? cause : { action, trigger }
}

const LONGEST_REST_MS = 1_000

const NEVER = new AbortController().signal
