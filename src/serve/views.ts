import type { Catalog } from '../sync/catalog/catalog.ts'
import { packingCatalog } from '../sync/catalog/catalog-packs.ts'
import { canHold, choicesDigestOf } from '../sync/catalog/pack.ts'
import type { Pack } from '../sync/catalog/pack.ts'
import { atOnce } from '../base/cooperative.ts'
import type { Steps } from '../base/cooperative.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import { Registry } from './registry.ts'
import { NO_HOLDER, Shares } from './fair-shares.ts'
import type { Holder } from './fair-shares.ts'

/** Which packs somebody sees, as one word: their ids in order. The empty word: all that is served, packs or not. */
export type ViewName = string

export const WHOLE: ViewName = ''

/** No id holds a space: a view of no pack at all is not that of everything. */
export const NONE: ViewName = ' '

/** By the id of each pack a digest of what it chooses by. With an equal one it chooses the same of the same skills. */
export type Choices = Readonly<Record<string, string>>

/** What the packs of a view choose by. */
export function choicesIn(choices: Choices | undefined, view: ViewName): string {
  return view
    .split(' ')
    .map((id) => choices?.[id])
    .join(' ')
}

/** What a view was made of last. */
interface Made {
  readonly from: readonly Snapshot[]
  readonly disabled: string
  readonly catalog: Catalog
}

/** What a view is to be made of once the catalog is served. */
interface Ready {
  readonly whole: Catalog
  readonly packs: ReadonlyMap<string, Pack>
  readonly made: Made
}

/** What goes on in a view: it ends with it. */
export interface ViewUse {
  /** Whether something listens there; if not, whether a session is there. Undefined where nothing would be missed. */
  readonly of: (view: ViewName) => 'stream' | 'session' | undefined
  readonly end: (view: ViewName) => void
}

/** The holder that a view counts for, and when anybody came for it last. */
interface Held {
  readonly holder: Holder
  readonly usedMs: number
}

/** Each costs as much as a catalog of its skills. */
const MOST_VIEWS = 64

/** A holder that has its share gives up one of its own that was unused for so long: making a catalog keeps all others waiting. */
const UNUSED_MS = 60_000

/**
 * The catalog as each view has it, in a registry for each that somebody came for. Whoever is answered from one and listens to it
 * is told of what moved there, and of nothing else. There are so many at most: one that is needed less is let go, and made again
 * for whoever comes.
 */
export class Views {
  readonly #whole: Registry
  readonly #registries = new Map<ViewName, Registry>()
  readonly #made = new Map<ViewName, Made>()
  /** Made before it is served. */
  readonly #ready = new Map<ViewName, Ready>()
  readonly #shares = new Shares<ViewName>()
  /** The one used longest ago first. */
  readonly #held = new Map<ViewName, Held>()
  readonly #now: () => number
  #use: ViewUse = { of: () => undefined, end: () => {} }
  #packs: ReadonlyMap<string, Pack> = new Map()
  #choices: Choices = {}

  /** `now`: milliseconds that only ever go up. */
  constructor(whole: Registry, now: () => number) {
    this.#whole = whole
    this.#now = now
    // Before whoever writes down what was told: by then all views have been.
    whole.watch(
      (_, catalog) => {
        for (const [view, registry] of this.#registries) registry.publish(this.#next(catalog, view))
        this.#ready.clear()
      },
      (_, catalog) => this.#preparing(catalog),
    )
  }

  /** From now on these are the packs. */
  define(packs: readonly Pack[]): void {
    this.#packs = new Map(packs.map((pack) => [pack.id, pack]))
    this.#choices = Object.fromEntries(this.packs.map((pack) => [pack.id, choicesDigestOf([pack])]))
    this.#made.clear()
    for (const [view, registry] of this.#registries) registry.publish(this.#next(this.#whole.catalog, view))
  }

  get choices(): Choices {
    return this.#choices
  }

  has(id: string): boolean {
    return this.#packs.has(id)
  }

  /** The view of those who see these packs, as far as there are such; without them, of those who see everything. */
  nameOf(packs: ReadonlySet<string> | undefined): ViewName {
    if (packs === undefined) return WHOLE
    const known = [...packs].filter((id) => this.has(id))
    return known.length === 0 ? NONE : known.toSorted().join(' ')
  }

  /** Whether somebody can see so: not by packs that are gone. */
  isNamed(view: ViewName): boolean {
    return view === WHOLE || this.nameOf(new Set(view.split(' '))) === view
  }

  /** Says from now on what goes on in views. */
  usedBy(use: ViewUse): void {
    this.#use = use
  }

  /** Whether a holder is answered from the view, for which another one may have to go. */
  admit(view: ViewName, holder: Holder): boolean {
    if (view === WHOLE) return true
    if (!this.#held.has(view) && !this.#makeRoomFor(holder)) return false
    this.#hold(view, holder)
    return true
  }

  /** In the order of their ids. */
  get packs(): readonly Pack[] {
    return [...this.#packs.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** The packs of a view that there are. */
  packsOf(view: ViewName): readonly Pack[] {
    return this.packs.filter(({ id }) => view.split(' ').includes(id))
  }

  registryOf(view: ViewName): Registry {
    if (view === WHOLE) return this.#whole
    const known = this.#registries.get(view)
    if (known !== undefined) return known
    const registry = new Registry()
    registry.publish(this.#next(this.#whole.catalog, view))
    this.#registries.set(view, registry)
    if (!this.#held.has(view)) this.#hold(view, NO_HOLDER)
    return registry
  }

  /** It counts for the one of those who came for it that holds the fewest: to come for what others see costs them nothing. */
  #hold(view: ViewName, holder: Holder): void {
    const before = this.#held.get(view)?.holder
    const isTaken = before === undefined || this.#shares.countOf(holder) + 1 < this.#shares.countOf(before)
    if (isTaken && before !== undefined) this.#shares.release(before, view)
    const owner = isTaken ? holder : before
    this.#shares.hold(owner, view)
    this.#shares.use(owner, view)
    this.#held.delete(view)
    this.#held.set(view, { holder: owner, usedMs: this.#now() })
  }

  #makeRoomFor(holder: Holder): boolean {
    if (this.#held.size < MOST_VIEWS) return true
    const view = this.#leastNeeded(holder)
    if (view !== undefined) this.#letGo(view)
    return view !== undefined
  }

  /** Of the holder that gives, one in which nothing goes on; if something does in all, the one unused for longest. */
  #leastNeeded(holder: Holder): ViewName | undefined {
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

  /** So that neither a catalog of packs nor what is told of it is made in the turn in which all of them are served. */
  *#preparing(whole: Catalog): Steps<void> {
    for (const [view, registry] of this.#registries) {
      const packs = this.#packs
      const made = yield* this.#making(whole, view)
      yield* registry.preparing(made.catalog)
      // It may have been let go meanwhile.
      if (this.#registries.get(view) === registry) this.#ready.set(view, { whole, packs, made })
    }
  }

  #next(whole: Catalog, view: ViewName): Catalog {
    const ready = this.#ready.get(view)
    const isReady = ready?.whole === whole && ready.packs === this.#packs
    const made = isReady ? ready.made : atOnce(this.#making(whole, view))
    this.#made.set(view, made)
    return made.catalog
  }

  /** Where nothing moved that the packs can hold, it is what it was. */
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

  /** What of a catalog those of the view see. */
  in(catalog: Catalog, view: ViewName): Catalog {
    return atOnce(this.#seeing(catalog, view))
  }

  *#seeing(catalog: Catalog, view: ViewName): Steps<Catalog> {
    return view === WHOLE ? catalog : yield* packingCatalog(catalog, this.packsOf(view))
  }
}
