import { stepByStep } from '../base/cooperative.ts'
import type { Steps } from '../base/cooperative.ts'
import { EMPTY_CATALOG } from '../sync/catalog/catalog.ts'
import type { Catalog } from '../sync/catalog/catalog.ts'
import { diff, diffing, isEmpty } from '../sync/catalog/changes.ts'
import type { Changes } from '../sync/catalog/changes.ts'

/** Receives every change of the catalog, after the catalog is served. */
export type ChangesListener = (changes: Changes, catalog: Catalog, before: Catalog) => void

/** Prepares the work and the notifications for the step from one catalog to another. */
export type Preparing = (before: Catalog, catalog: Catalog) => Steps<unknown>

/** Receives every served catalog, even without changes, after all listeners are notified. */
export type Watcher = (before: Catalog, catalog: Catalog) => void

/** The catalog being served. The only mutable cell between sync and serve. */
export class Registry {
  #catalog: Catalog = EMPTY_CATALOG
  readonly #listeners = new Map<ChangesListener, Preparing | undefined>()
  readonly #watchers = new Map<Watcher, Preparing | undefined>()

  get catalog(): Catalog {
    return this.#catalog
  }

  /**
   * Prepares in slices the notifications that follow the publication: to compare catalogs with thousands of skills in
   * one step would block others too long. It serves and sends nothing yet. If another catalog is served by then,
   * `publish` does the work at once.
   */
  async prepare(next: Catalog): Promise<void> {
    await stepByStep(this.preparing(next))
  }

  /** Works like `prepare`, as a part of larger work. */
  *preparing(next: Catalog): Steps<void> {
    const before = this.#catalog
    const isTold = this.#listeners.size > 0 && !isEmpty(yield* diffing(before, next))
    for (const preparing of [...(isTold ? this.#listeners.values() : []), ...this.#watchers.values()])
      if (preparing !== undefined) yield* preparing(before, next)
  }

  /** Replaces the whole catalog, then notifies the listeners of the changes. */
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

  /**
   * Calls back on each change until the returned value is disposed. `preparing`: the work that can be done before
   * publication.
   */
  listen(listener: ChangesListener, preparing?: Preparing): Disposable {
    this.#listeners.set(listener, preparing)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /**
   * Calls back on each catalog until the returned value is disposed. `preparing`: the work that can be done before
   * publication.
   */
  watch(watcher: Watcher, preparing?: Preparing): Disposable {
    this.#watchers.set(watcher, preparing)
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) }
  }
}
