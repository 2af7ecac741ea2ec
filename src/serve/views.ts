import type { Catalog } from '../sync/model/catalog.ts'
import { catalogOfPacks } from '../sync/model/catalog-of-packs.ts'
import { canHold, choicesDigestOf } from '../sync/model/pack.ts'
import type { Pack } from '../sync/model/pack.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import { Registry } from './registry.ts'

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

/** Each costs as much as a catalog of its skills, for as long as the process lives. */
const MOST_VIEWS = 64

/**
 * The catalog as each view has it, in a registry for each that somebody came for. Whoever is answered from one and listens to it
 * is told of what moved there, and of nothing else.
 */
export class Views {
  readonly #whole: Registry
  readonly #registries = new Map<ViewName, Registry>()
  readonly #made = new Map<ViewName, Made>()
  #packs: ReadonlyMap<string, Pack> = new Map()
  #choices: Choices = {}

  constructor(whole: Registry) {
    this.#whole = whole
    // Before whoever writes down what was told: by then all views have been.
    whole.watch((_, catalog) => {
      for (const [view, registry] of this.#registries) registry.publish(this.#next(catalog, view))
    })
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

  /** Whether somebody can be answered from the view: as many as there may be have been asked for already. */
  hasRoomFor(view: ViewName): boolean {
    if (view === WHOLE || this.#registries.has(view)) return true
    return [...this.#registries.keys()].filter((one) => this.isNamed(one)).length < MOST_VIEWS
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
    return registry
  }

  /** Where nothing moved that the packs can hold, it is what it was. */
  #next(whole: Catalog, view: ViewName): Catalog {
    const packs = this.packsOf(view)
    const isHeld = (source: string): boolean => packs.some((pack) => canHold(pack, source))
    const from = whole.snapshots.filter(({ source }) => isHeld(source))
    const disabled = JSON.stringify(whole.sources.filter(([source]) => isHeld(source)))
    const before = this.#made.get(view)
    const isSame =
      before?.disabled === disabled &&
      before.from.length === from.length &&
      from.every((snapshot, index) => snapshot === before.from[index])
    const catalog = isSame ? { ...before.catalog, generation: whole.generation } : this.in(whole, view)
    this.#made.set(view, { from, disabled, catalog })
    return catalog
  }

  /** What of a catalog those of the view see. */
  in(catalog: Catalog, view: ViewName): Catalog {
    return view === WHOLE ? catalog : catalogOfPacks(catalog, this.packsOf(view))
  }
}
