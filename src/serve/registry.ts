import { EMPTY_CATALOG } from '../sync/model/catalog.ts'
import type { Catalog } from '../sync/model/catalog.ts'
import { diff, isEmpty } from '../sync/model/changes.ts'
import type { Changes } from '../sync/model/changes.ts'

/** Hears of every change of the catalog, after it is served. */
export type Listener = (changes: Changes, catalog: Catalog, before: Catalog) => void

/** Hears of every catalog that is served, also of one in which nothing moved, when all listeners know. */
export type Watcher = (before: Catalog, catalog: Catalog) => void

/** The catalog being served. The only mutable cell between sync and serve. */
export class Registry {
  #catalog: Catalog = EMPTY_CATALOG
  readonly #listeners = new Set<Listener>()
  readonly #watchers = new Set<Watcher>()

  get catalog(): Catalog {
    return this.#catalog
  }

  /** Swaps the catalog in whole, then tells the listeners what moved. */
  publish(next: Catalog): void {
    const before = this.#catalog
    this.#catalog = next
    if (this.#listeners.size > 0) this.#tell(before, next)
    for (const watcher of this.#watchers) watcher(before, next)
  }

  #tell(before: Catalog, next: Catalog): void {
    const changes = diff(before, next)
    if (!isEmpty(changes)) for (const listener of this.#listeners) listener(changes, next, before)
  }

  /** Calls back on each change until what is returned is disposed. */
  listen(listener: Listener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Calls back on each catalog until what is returned is disposed. */
  watch(watcher: Watcher): Disposable {
    this.#watchers.add(watcher)
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }
}
