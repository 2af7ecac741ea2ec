import { EMPTY_CATALOG } from '../sync/catalog/catalog.ts'
import type { Catalog } from '../sync/catalog/catalog.ts'
import { diff, diffing, isEmpty } from '../sync/catalog/changes.ts'
import type { Changes } from '../sync/catalog/changes.ts'
import { stepByStep } from '../base/cooperative.ts'
import type { Steps } from '../base/cooperative.ts'

/** Hears of every change of the catalog, after it is served. */
export type Listener = (changes: Changes, catalog: Catalog, before: Catalog) => void

/** Makes what is done or told on the way from one catalog to another. */
export type Preparing = (before: Catalog, catalog: Catalog) => Steps<unknown>

/** Hears of every catalog that is served, also of one in which nothing moved, when all listeners know. */
export type Watcher = (before: Catalog, catalog: Catalog) => void

/** The catalog being served. The only mutable cell between sync and serve. */
export class Registry {
  #catalog: Catalog = EMPTY_CATALOG
  readonly #listeners = new Map<Listener, Preparing | undefined>()
  readonly #watchers = new Map<Watcher, Preparing | undefined>()

  get catalog(): Catalog {
    return this.#catalog
  }

  /**
   * Makes ready in slices what is told once the catalog is published, since to compare catalogs of thousands of skills takes
   * longer than others should wait. Nothing is served or told of it yet. Where another is served by then, it is made at once.
   */
  async prepare(next: Catalog): Promise<void> {
    await stepByStep(this.preparing(next))
  }

  /** `prepare`, as a part of a larger work. */
  *preparing(next: Catalog): Steps<void> {
    const before = this.#catalog
    const isTold = this.#listeners.size > 0 && !isEmpty(yield* diffing(before, next))
    for (const preparing of [...(isTold ? this.#listeners.values() : []), ...this.#watchers.values()])
      if (preparing !== undefined) yield* preparing(before, next)
  }

  /** Swaps the catalog in whole, then tells the listeners what moved. */
  publish(next: Catalog): void {
    const before = this.#catalog
    this.#catalog = next
    if (this.#listeners.size > 0) this.#tell(before, next)
    for (const watcher of this.#watchers.keys()) watcher(before, next)
  }

  #tell(before: Catalog, next: Catalog): void {
    const changes = diff(before, next)
    if (!isEmpty(changes)) for (const listener of this.#listeners.keys()) listener(changes, next, before)
  }

  /** Calls back on each change until what is returned is disposed. `preparing`: what can be made before. */
  listen(listener: Listener, preparing?: Preparing): Disposable {
    this.#listeners.set(listener, preparing)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Calls back on each catalog until what is returned is disposed. `preparing`: what can be made before. */
  watch(watcher: Watcher, preparing?: Preparing): Disposable {
    this.#watchers.set(watcher, preparing)
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }
}
