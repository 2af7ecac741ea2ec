import type { Catalog } from '../sync/model/catalog.ts'
import { catalogOfPacks } from '../sync/model/catalog-of-packs.ts'
import { choicesDigestOf } from '../sync/model/pack.ts'
import type { Pack } from '../sync/model/pack.ts'
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

/** Each costs as much as a catalog of its skills, for as long as the process lives. */
const MOST_VIEWS = 64

/**
 * The catalog as each view has it, in a registry for each that somebody came for. Whoever is answered from one and listens to it
 * is told of what moved there, and of nothing else.
 */
export class Views {
  readonly #whole: Registry
  readonly #registries = new Map<ViewName, Registry>()
  #packs: ReadonlyMap<string, Pack> = new Map()
  #choices: Choices = {}

  constructor(whole: Registry) {
    this.#whole = whole
    // Before whoever writes down what was told: by then all views have been.
    whole.watch((_, catalog) => {
      for (const [view, registry] of this.#registries) registry.publish(this.in(catalog, view))
    })
  }

  /** From now on these are the packs. */
  define(packs: readonly Pack[]): void {
    this.#packs = new Map(packs.map((pack) => [pack.id, pack]))
    this.#choices = Object.fromEntries(this.packs.map((pack) => [pack.id, choicesDigestOf([pack])]))
    for (const [view, registry] of this.#registries) registry.publish(this.in(this.#whole.catalog, view))
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

  /** Whether somebody can be answered from the view: as many as there may be have been asked for already. */
  hasRoomFor(view: ViewName): boolean {
    return view === WHOLE || this.#registries.has(view) || this.#registries.size < MOST_VIEWS
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
    registry.publish(this.in(this.#whole.catalog, view))
    this.#registries.set(view, registry)
    return registry
  }

  /** What of a catalog those of the view see. */
  in(catalog: Catalog, view: ViewName): Catalog {
    return view === WHOLE ? catalog : catalogOfPacks(catalog, this.packsOf(view))
  }
}
