import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { listenForEvents } from '../../mcp/events/events.ts'
import type { Telling } from '../../mcp/events/events.ts'
import { Hub, Spent } from '../../mcp/events/subscriptions.ts'
import { servingFor } from '../../mcp/core/methods.ts'
import type { Serving } from '../../mcp/core/methods.ts'
import type { Holder } from '../../fair-shares.ts'
import { WHOLE } from '../../views.ts'
import type { Choices, ViewName } from '../../views.ts'
import { Past } from './missed-events.ts'
import type { Mark, SessionLog } from './session-store.ts'

/** Those who see the same part of the catalog: what they are told of, and what happened to it while nobody could be told. */
export interface Room {
  readonly hub: Hub
  readonly past: Past
}

/** What those are answered from who are to be told. */
type Told = Telling & Pick<Serving, 'packs'>

/** All that are told of changes, by what they see of the catalog. They stay, whichever configuration is answered from. */
export class Rooms implements Disposable {
  #serving: Told
  /** As far as everybody was told: the packs may be others already. */
  #choices: Choices | undefined
  readonly #catalogOf: SessionLog['catalogOf']
  /** What all that is subscribed to costs. */
  readonly spent = new Spent()
  readonly #rooms = new Map<ViewName, OpenRoom>()

  constructor(serving: Told, catalogOf: SessionLog['catalogOf']) {
    this.#serving = serving
    this.#choices = serving.packs?.views.choices
    this.#catalogOf = catalogOf
    // Before there is a session: what is published while they are brought back must reach those that are.
    this.of(WHOLE)
  }

  of(view: ViewName): Room {
    const known = this.#rooms.get(view)
    if (known !== undefined) return known
    const serving = servingFor(this.#serving, view)
    const past = new Past({
      serving,
      view,
      now: () => this.now,
      catalogOf: this.#catalogOf,
      packs: this.#serving.packs,
    })
    const room = new OpenRoom(new Hub(this.spent), past, serving)
    this.#rooms.set(view, room)
    return room
  }

  /** Whether there are some who see so: not by packs that are gone. */
  has(view: ViewName): boolean {
    return view === WHOLE || this.#serving.packs?.views.isNamed(view) === true
  }

  /** Whether a holder may be told of what is seen so; another view may have to go for it. */
  admit(view: ViewName, holder: Holder): boolean {
    return this.#serving.packs?.views.admit(view, holder) !== false
  }

  /** The view was let go. Those that were told here have ended. */
  close(view: ViewName): void {
    this.#rooms.get(view)?.[Symbol.dispose]()
    this.#rooms.delete(view)
  }

  /** What is served now. */
  get now(): Mark {
    return this.markOf(this.#serving.registry.catalog)
  }

  /** The mark of a catalog that this process serves. It is of all that is served: in what a view shows of it, nothing else has a part. */
  markOf({ generation, digest, sources }: Catalog): Mark {
    return { generation, digest, forms: this.#serving.forms.digest, packs: this.#choices, sources }
  }

  /** From now on this is answered from. Says whether anybody was to be told of that. */
  serve(serving: Told): boolean {
    const choices = serving.packs?.views.choices
    let isNews = JSON.stringify(choices) !== JSON.stringify(this.#choices)
    this.#serving = serving
    this.#choices = choices
    for (const [view, room] of this.#rooms) isNews = room.serve(servingFor(serving, view), serving.packs) || isNews
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

class OpenRoom implements Room, Disposable {
  readonly hub: Hub
  readonly past: Past
  #telling: Disposable

  constructor(hub: Hub, past: Past, serving: Telling) {
    this.hub = hub
    this.past = past
    this.#telling = listenForEvents(serving, (events) => hub.tell(events))
  }

  serve(serving: Telling, packs: Serving['packs']): boolean {
    this.#telling[Symbol.dispose]()
    this.#telling = listenForEvents(serving, (events) => this.hub.tell(events))
    const events = this.past.serve(serving, packs)
    if (events !== undefined) this.hub.tell(events)
    return events !== undefined
  }

  [Symbol.dispose](): void {
    this.hub.close()
    this.#telling[Symbol.dispose]()
  }
}
