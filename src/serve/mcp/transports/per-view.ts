import type { Registry } from '../../registry.ts'
import type { ViewName } from '../../view.ts'
import type { Serving } from '../core/methods.ts'

/** Holds one value for each view. It is created at the first use of the view, and dropped with the view. */
export class PerView<One> {
  readonly #serving: Pick<Serving, 'registry' | 'views'>
  readonly #make: (view: ViewName) => One
  /** A view that is built again has another registry. */
  readonly #made = new WeakMap<Registry, One>()

  constructor(serving: Pick<Serving, 'registry' | 'views'>, make: (view: ViewName) => One) {
    this.#serving = serving
    this.#make = make
  }

  of(view: ViewName): One {
    const { registry: whole, views } = this.#serving
    const registry = views?.registryOf(view) ?? whole
    const known = this.#made.get(registry)
    if (known !== undefined) return known
    const made = this.#make(view)
    this.#made.set(registry, made)
    return made
  }
}
