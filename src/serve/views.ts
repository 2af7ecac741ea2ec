import { runNow } from '../base/async/cooperative.ts'
import type { Steps } from '../base/async/cooperative.ts'
import { packingCatalog } from '../sync/catalog/catalog-packs.ts'
import type { Catalog, Catalogs } from '../sync/catalog/catalog.ts'
import { canHold, choicesDigestOf } from '../sync/catalog/pack.ts'
import type { Pack } from '../sync/catalog/pack.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import { NO_HOLDER, FairShares } from './fair-shares.ts'
import type { ShareHolder } from './fair-shares.ts'
import { Registry } from './registry.ts'
import type { NotificationBarrier } from './registry.ts'
import { nameOfView, partsOfView, WHOLE } from './view.ts'
import type { Choices, RingRoster, ViewName } from './view.ts'

/** The inputs and result of the last build of a view. */
interface Made {
  readonly from: readonly Snapshot[]
  readonly disabled: string
  readonly catalog: Catalog
}

/** A view built in advance, used when the catalog is served. */
interface Ready {
  readonly whole: Catalog
  readonly packs: ReadonlyMap<string, Pack>
  readonly made: Made
}

/** The use of a view by streams and sessions, which end with it. */
export interface ViewUse {
  /**
   * Returns `stream` if a stream listens in the view, else `session` if a session exists. `undefined` if ending the
   * view affects no client.
   */
  readonly of: (view: ViewName) => 'stream' | 'session' | undefined
  readonly end: (view: ViewName) => void
}

/** The holder that a view counts for, and the time of its last use. */
interface Held {
  readonly holder: ShareHolder
  readonly usedMs: number
}

/** Each view costs as much memory as a catalog of its skills. */
const MOST_VIEWS = 64

/**
 * A holder at its share gives up one of its own views after this time without use: building a catalog blocks all
 * others.
 */
const UNUSED_MS = 60_000

/**
 * The catalog of each view, in one registry for each view in use. A client that reads and listens to a view is notified
 * only of changes in it. The number of views is limited. The least needed view is dropped, and is built again on the
 * next request.
 */
export class Views {
  /** The registries of everything in each ring, as `Catalogs` names them. */
  readonly #rings = new Map<string | undefined, Registry>()
  #roster: RingRoster | undefined
  readonly #registries = new Map<ViewName, Registry>()
  readonly #made = new Map<ViewName, Made>()
  /** Views built before the catalog is served. */
  readonly #ready = new Map<ViewName, Ready>()
  readonly #shares = new FairShares<ViewName>()
  /** The least recently used view comes first. */
  readonly #held = new Map<ViewName, Held>()
  readonly #now: () => number
  readonly #registryHold: NotificationBarrier | undefined
  #use: ViewUse = { of: () => undefined, end: () => {} }
  #packs: ReadonlyMap<string, Pack> = new Map()
  #choices: Choices = {}

  /** `now`: a monotonic clock in milliseconds. `hold`: that of the registry of everything. */
  constructor(whole: Registry, now: () => number, hold?: NotificationBarrier) {
    this.#now = now
    this.#registryHold = hold
    this.#addRing(undefined, whole)
  }

  /** Has the views of a ring follow the catalog of the ring. */
  #addRing(ring: string | undefined, whole: Registry): Registry {
    this.#rings.set(ring, whole)
    whole.watch(
      (_, catalog) => {
        for (const [view, registry] of this.#viewsIn(ring)) {
          registry.publish(this.#next(catalog, view))
          this.#ready.delete(view)
        }
      },
      (_, catalog) => this.#preparing(catalog, ring),
    )
    return whole
  }

  #viewsIn(ring: string | undefined): readonly (readonly [ViewName, Registry])[] {
    return [...this.#registries].filter(([view]) => partsOfView(view).ring === ring)
  }

  /** Replaces the rings; `undefined`: there are none. Their catalogs come with `replace`. */
  defineRings(roster: RingRoster | undefined): void {
    this.#roster = roster
  }

  /** Replaces the catalog of each ring, and notifies its clients: those of the first ring last, since it covers all. */
  replace(catalogs: Catalogs): void {
    for (const [ring, catalog] of [...catalogs].toReversed()) this.#ring(ring).publish(catalog)
  }

  /** Prepares the notifications that follow `replace`, in slices. */
  async prepare(catalogs: Catalogs): Promise<void> {
    for (const [ring, catalog] of [...catalogs].toReversed()) await this.#ring(ring).prepare(catalog)
  }

  #ring(id: string | undefined): Registry {
    return this.#rings.get(id) ?? this.#addRing(id, new Registry(this.#registryHold))
  }

  /** The ring of a client, if it is not the first; `principal`: the id of its token, if it has one. */
  ringOf(principal: string | undefined): string | undefined {
    const ring = this.#roster?.ringOf(principal)
    return ring === this.#roster?.ids[0] ? undefined : ring
  }

  /** The digest of the catalog of each ring after the first that clients were last notified of; `undefined` without rings. */
  get notifiedRings(): Readonly<Record<string, string>> | undefined {
    if (this.#roster === undefined) return undefined
    return Object.fromEntries(this.#laterRings.map((ring) => [ring, this.#ring(ring).notified.digest]))
  }

  /** The registry of the ring with the oldest content, for all that has no client; without rings, that of everything. */
  get oldest(): Registry {
    return this.#ring(this.#laterRings.at(-1))
  }

  /** The registry of everything in a ring. */
  inRing(id: string): Registry {
    return this.#ring(id === this.#roster?.ids[0] ? undefined : id)
  }

  get #laterRings(): readonly string[] {
    return this.#roster?.ids.slice(1) ?? []
  }

  /** Replaces the packs. */
  define(packs: readonly Pack[]): void {
    this.#packs = new Map(packs.map((pack) => [pack.id, pack]))
    this.#choices = Object.fromEntries(this.packs.map((pack) => [pack.id, choicesDigestOf([pack])]))
    this.#made.clear()
    for (const [view, registry] of this.#registries)
      registry.publish(this.#next(this.#ring(partsOfView(view).ring).catalog, view))
  }

  get choices(): Choices {
    return this.#choices
  }

  has(id: string): boolean {
    return this.#packs.has(id)
  }

  /** True if the view names only existing packs, and an existing ring. */
  isNamed(view: ViewName): boolean {
    const { ring, packs } = partsOfView(view)
    if (ring !== undefined && !this.#laterRings.includes(ring)) return false
    return packs === WHOLE || nameOfView(new Set(packs.split(' ')), undefined, this) === packs
  }

  /** Sets the source of information about the use of views. */
  usedBy(use: ViewUse): void {
    this.#use = use
  }

  /** Returns true if the holder is served from the view. Another view may be dropped to make room. */
  admit(view: ViewName, holder: ShareHolder): boolean {
    if (partsOfView(view).packs === WHOLE) return true
    if (!this.#held.has(view) && !this.#makeRoomFor(holder)) return false
    this.#hold(view, holder)
    return true
  }

  /** The packs, sorted by id. */
  get packs(): readonly Pack[] {
    return [...this.#packs.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** The existing packs of a view. */
  packsOf(view: ViewName): readonly Pack[] {
    const seen = partsOfView(view).packs.split(' ')
    return this.packs.filter(({ id }) => seen.includes(id))
  }

  registryOf(view: ViewName): Registry {
    const { ring, packs } = partsOfView(view)
    const whole = this.#ring(ring)
    if (packs === WHOLE) return whole
    const known = this.#registries.get(view)
    if (known !== undefined) return known
    const registry = new Registry(this.#registryHold)
    registry.publish(this.#next(whole.catalog, view))
    this.#registries.set(view, registry)
    if (!this.#held.has(view)) this.#hold(view, NO_HOLDER)
    return registry
  }

  /**
   * Counts the view for the holder that has the fewest of those that use it: the use of a view that others see costs a
   * holder nothing.
   */
  #hold(view: ViewName, holder: ShareHolder): void {
    const before = this.#held.get(view)?.holder
    const isTaken = before === undefined || this.#shares.countOf(holder) + 1 < this.#shares.countOf(before)
    if (isTaken && before !== undefined) this.#shares.release(before, view)
    const owner = isTaken ? holder : before
    this.#shares.hold(owner, view)
    this.#shares.use(owner, view)
    this.#held.delete(view)
    this.#held.set(view, { holder: owner, usedMs: this.#now() })
  }

  #makeRoomFor(holder: ShareHolder): boolean {
    if (this.#held.size < MOST_VIEWS) return true
    const view = this.#leastNeeded(holder)
    if (view !== undefined) this.#letGo(view)
    return view !== undefined
  }

  /** Selects a view of the holder that must give one up: an unused one, or else the least recently used. */
  #leastNeeded(holder: ShareHolder): ViewName | undefined {
    const unused = (view: ViewName): boolean => this.#use.of(view) === undefined
    const unheard = (view: ViewName): boolean => this.#use.of(view) !== 'stream'
    const giver = this.#shares.giverTo(holder)
    if (giver !== undefined) {
      const views = [...this.#shares.placesOf(giver)]
      return views.find(unused) ?? views.find(unheard) ?? views[0]
    }
    const isOld = (view: ViewName): boolean => this.#now() - (this.#held.get(view)?.usedMs ?? 0) >= UNUSED_MS
    const own = this.#shares.countOf(holder) > 0 ? this.#shares.placesOf(holder) : this.#held.keys()
    const old = [...own].filter(isOld)
    return old.find(unused) ?? old.find(unheard)
  }

  #letGo(view: ViewName): void {
    this.#shares.release(this.#held.get(view)?.holder ?? NO_HOLDER, view)
    this.#held.delete(view)
    this.#use.end(view)
    this.#registries.delete(view)
    this.#made.delete(view)
    this.#ready.delete(view)
  }

  /**
   * Builds the catalogs of packs and their notifications in advance. The turn that serves them all then has less work.
   */
  *#preparing(whole: Catalog, ring: string | undefined): Steps<void> {
    for (const [view, registry] of this.#viewsIn(ring)) {
      const packs = this.#packs
      const made = yield* this.#making(whole, view)
      yield* registry.preparing(made.catalog)
      // The view may have been dropped in the meantime.
      if (this.#registries.get(view) === registry) this.#ready.set(view, { whole, packs, made })
    }
  }

  #next(whole: Catalog, view: ViewName): Catalog {
    const ready = this.#ready.get(view)
    const isReady = ready?.whole === whole && ready.packs === this.#packs
    const made = isReady ? ready.made : runNow(this.#making(whole, view))
    this.#made.set(view, made)
    return made.catalog
  }

  /** Reuses the previous catalog if no source of the packs has changed. */
  *#making(whole: Catalog, view: ViewName): Steps<Made> {
    const packs = this.packsOf(view)
    const isHeld = (source: string): boolean => packs.some((pack) => canHold(pack, source))
    const from = whole.snapshots.filter(({ source }) => isHeld(source))
    const disabled = JSON.stringify(whole.sources.filter(([source]) => isHeld(source)))
    const before = this.#made.get(view)
    const isSame =
      before?.disabled === disabled &&
      before.from.length === from.length &&
      from.every((snapshot, index) => snapshot === before.from[index])
    const catalog = isSame ? { ...before.catalog, generation: whole.generation } : yield* this.#seeing(whole, view)
    return { from, disabled, catalog }
  }

  /** Returns the part of a catalog that the view sees. */
  in(catalog: Catalog, view: ViewName): Catalog {
    return runNow(this.#seeing(catalog, view))
  }

  *#seeing(catalog: Catalog, view: ViewName): Steps<Catalog> {
    const isWhole = partsOfView(view).packs === WHOLE
    return isWhole ? catalog : yield* packingCatalog(catalog, this.packsOf(view))
  }
}
