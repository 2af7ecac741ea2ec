import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import { WHOLE } from '../../view.ts'
import type { Choices, ViewName } from '../../view.ts'
import { admits, servingFor } from '../core/methods.ts'
import type { Serving } from '../core/methods.ts'
import { listenForEvents } from '../events/events.ts'
import type { NotificationSource } from '../events/events.ts'
import { Subscriptions, SubscriptionCost } from '../events/subscriptions.ts'
import { MissedEvents } from './missed-events.ts'
import type { NotifiedCatalog, SessionLog } from './session-store.ts'

/** The notifications of one view, and the changes that its clients missed. */
export interface ViewSubscriptions {
  readonly hub: Subscriptions
  readonly past: MissedEvents
}

/** The serving state that the notifications are about. */
type Told = NotificationSource & Pick<Serving, 'views' | 'ofView'>

/** The hubs of all views. They outlive a change of the configuration. */
export class ViewHubs implements Disposable {
  #serving: Told
  /** The selection digests that the clients were notified of; the packs may have changed already. */
  #choices: Choices | undefined
  /** The catalogs of the rings that the clients were notified of. */
  #rings: NotifiedCatalog['rings']
  readonly #catalogOf: SessionLog['catalogOf']
  /** The total cost of all subscriptions. */
  readonly spent = new SubscriptionCost()
  readonly #rooms = new Map<ViewName, OpenRoom>()

  constructor(serving: Told, catalogOf: SessionLog['catalogOf']) {
    this.#serving = serving
    this.#choices = serving.views?.choices
    this.#rings = serving.views?.notifiedRings
    this.#catalogOf = catalogOf
    // Created before the sessions: a change that is published while sessions are restored must reach those already
    // restored.
    this.of(WHOLE)
  }

  of(view: ViewName): ViewSubscriptions {
    const known = this.#rooms.get(view)
    if (known !== undefined) return known
    const serving = servingFor(this.#serving, view)
    const past = new MissedEvents({
      serving,
      view,
      now: () => this.now,
      catalogOf: this.#catalogOf,
      views: this.#serving.views,
    })
    const room = new OpenRoom(new Subscriptions(this.spent), past, serving)
    this.#rooms.set(view, room)
    return room
  }

  /** True if the view names only existing packs. */
  has(view: ViewName): boolean {
    return view === WHOLE || this.#serving.views?.isNamed(view) === true
  }

  /** Returns true if the holder may use the view. Another view may be dropped to make room. */
  admit(view: ViewName, holder: ShareHolder): boolean {
    return admits(this.#serving, view, holder)
  }

  /** Closes a dropped view. Its subscribers have ended. */
  close(view: ViewName): void {
    this.#rooms.get(view)?.[Symbol.dispose]()
    this.#rooms.delete(view)
  }

  /** The mark of the catalog that clients were last notified of. */
  get now(): NotifiedCatalog {
    return this.#markOf(this.#serving.registry.notified, this.#serving.views?.notifiedRings)
  }

  /**
   * Returns the marks of two catalogs of this process, of which the second one is that of `now`. They cover the whole
   * catalogs, because the part of a view depends on nothing else. The rings are served and notified first.
   */
  marksBetween(before: Catalog, catalog: Catalog): { readonly before: NotifiedCatalog; readonly now: NotifiedCatalog } {
    const earlier = this.#rings
    this.#rings = this.#serving.views?.notifiedRings
    return { before: this.#markOf(before, earlier), now: this.#markOf(catalog, this.#rings) }
  }

  #markOf({ generation, digest, sources }: Catalog, rings: NotifiedCatalog['rings']): NotifiedCatalog {
    const forms = this.#serving.forms.digest
    return { generation, digest, forms, packs: this.#choices, ...(rings !== undefined && { rings }), sources }
  }

  /** Replaces the serving state. Returns true if subscribers had to be notified of it. */
  serve(serving: Told): boolean {
    const choices = serving.views?.choices
    let isNews = JSON.stringify(choices) !== JSON.stringify(this.#choices)
    this.#serving = serving
    this.#choices = choices
    for (const [view, room] of this.#rooms) isNews = room.serve(servingFor(serving, view), serving.views) || isNews
    return isNews
  }

  get figures(): { readonly subscribedUris: number; readonly updates: number; readonly listChanges: number } {
    const sum = { subscribedUris: 0, updates: 0, listChanges: 0 }
    for (const { hub } of this.#rooms.values()) {
      sum.subscribedUris += hub.size
      sum.updates += hub.told.updates
      sum.listChanges += hub.told.listChanges
    }
    return sum
  }

  [Symbol.dispose](): void {
    for (const room of this.#rooms.values()) room[Symbol.dispose]()
  }
}

class OpenRoom implements ViewSubscriptions, Disposable {
  readonly hub: Subscriptions
  readonly past: MissedEvents
  #telling: Disposable

  constructor(hub: Subscriptions, past: MissedEvents, serving: NotificationSource) {
    this.hub = hub
    this.past = past
    this.#telling = listenForEvents(serving, (events) => hub.tell(events))
  }

  serve(serving: NotificationSource, views: Serving['views']): boolean {
    this.#telling[Symbol.dispose]()
    this.#telling = listenForEvents(serving, (events) => this.hub.tell(events))
    const events = this.past.serve(serving, views)
    if (events !== undefined) this.hub.tell(events)
    return events !== undefined
  }

  [Symbol.dispose](): void {
    this.hub.close()
    this.#telling[Symbol.dispose]()
  }
}
