import { runInSlices } from '../base/async/cooperative.ts'
import type { Steps } from '../base/async/cooperative.ts'
import { EMPTY_CATALOG } from '../sync/catalog/catalog.ts'
import type { Catalog } from '../sync/catalog/catalog.ts'
import { diff, diffing, isEmpty } from '../sync/catalog/changes.ts'
import type { Changes } from '../sync/catalog/changes.ts'

/** Receives every change of the catalog, after the catalog is served. */
export type ChangesListener = (changes: Changes, catalog: Catalog, before: Catalog) => void

/** Prepares the work and the notifications for the step from one catalog to another. */
export type Preparing = (before: Catalog, catalog: Catalog) => Steps<unknown>

/** Receives every served catalog, even without changes. */
export type Watcher = (before: Catalog, catalog: Catalog) => void

/**
 * Calls `notify` once clients may be notified of what is served by now; all calls in their order. `isServedByAll`: false
 * if a process of the hub may serve an earlier catalog for longer. Then `again` is called when that one serves it too;
 * `areAll`: when no other process may serve an earlier one.
 */
export type NotificationBarrier = (notify: (isServedByAll: boolean) => void, again?: (areAll: boolean) => void) => void

/** The hold of a hub of one process. */
const AT_ONCE: NotificationBarrier = (notify) => notify(true)

/** The catalog being served. The only mutable cell between sync and serve. */
export class Registry {
  #catalog: Catalog = EMPTY_CATALOG
  #notified: Catalog = EMPTY_CATALOG
  /** The catalog before the first change that clients may have read too early. */
  #readEarly: Catalog | undefined
  readonly #hold: NotificationBarrier
  readonly #listeners = new Map<ChangesListener, Preparing | undefined>()
  readonly #watchers = new Map<Watcher, Preparing | undefined>()
  readonly #recorders = new Set<Watcher>()

  /** `hold`: for a hub of several processes. A notified client may read at one that serves the change a moment later. */
  constructor(hold: NotificationBarrier = AT_ONCE) {
    this.#hold = hold
  }

  get catalog(): Catalog {
    return this.#catalog
  }

  /** The catalog that clients were last notified of. It is the served one, or one before it while notifications are held. */
  get notified(): Catalog {
    return this.#notified
  }

  /**
   * Prepares in slices the notifications that follow the publication: to compare catalogs with thousands of skills in
   * one step would block others too long. It serves and sends nothing yet. If another catalog is served by then,
   * `publish` does the work at once.
   */
  async prepare(next: Catalog): Promise<void> {
    await runInSlices(this.preparing(next))
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
    // No client knows an earlier catalog than the first one.
    const hold = before === EMPTY_CATALOG ? AT_ONCE : this.#hold
    hold((isServedByAll) => {
      this.#notified = next
      if (!isServedByAll) this.#readEarly ??= before
      this.#notify(before, next)
    }, this.#notifyAgain)
    for (const watcher of this.#watchers.keys()) watcher(before, next)
    hold(() => {
      for (const recorder of this.#recorders) recorder(before, next)
    })
  }

  #notify(before: Catalog, next: Catalog): void {
    if (this.#listeners.size === 0) return
    const changes = diff(before, next)
    if (!isEmpty(changes)) for (const listener of this.#listeners.keys()) listener(changes, next, before)
  }

  readonly #notifyAgain = (areAll: boolean): void => {
    const before = this.#readEarly
    if (areAll) this.#readEarly = undefined
    if (before !== undefined) this.#notify(before, this.#notified)
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

  /** Calls back after the listeners, and those of views, were notified of a catalog, until the value is disposed. */
  record(recorder: Watcher): Disposable {
    this.#recorders.add(recorder)
    return { [Symbol.dispose]: () => void this.#recorders.delete(recorder) }
  }
}
