import type { Catalog } from '../sync/model/catalog.ts'
import { catalogOfPacks } from '../sync/model/catalog-of-packs.ts'
import { choicesDigestOf } from '../sync/model/pack.ts'
import type { Pack } from '../sync/model/pack.ts'
import { Registry } from './registry.ts'

/** Which packs somebody sees, as one word: their ids in order. The empty word: all that is served, packs or not. */
export type ViewName = string

export const WHOLE: ViewName = ''

/** The view of those who see these packs; without them, of those who see everything. */
export function viewOf(packs: ReadonlySet<string> | undefined): ViewName {
  if (packs === undefined) return WHOLE
  // No id holds a space: a view of no pack at all is not that of everything.
  return packs.size === 0 ? NONE : [...packs].toSorted().join(' ')
}

const NONE: ViewName = ' '

/**
 * The catalog as each view has it, in a registry for each that somebody came for. Whoever is answered from one and listens to it
 * is told of what moved there, and of nothing else.
 */
export class Views {
  readonly #whole: Registry
  readonly #registries = new Map<ViewName, Registry>()
  #packs: ReadonlyMap<string, Pack> = new Map()
  #choices = ''

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
    this.#choices = choicesDigestOf(packs)
    for (const [view, registry] of this.#registries) registry.publish(this.in(this.#whole.catalog, view))
  }

  /** Equal digests: of the same skills the packs choose the same. */
  get choices(): string {
    return this.#choices
  }

  has(id: string): boolean {
    return this.#packs.has(id)
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
