import type { Events } from './events.ts'
import { EVERY_PART, listPartsOf } from './list-kinds.ts'
import type { ListPart } from './list-kinds.ts'
import type { Holder } from '../../fair-shares.ts'

/** One place that notifications go to: a session, or one listen stream. */
export interface Subscriber {
  /** The holder that its subscriptions count for. */
  readonly holder: Holder
  /** `uri` as this subscriber wrote it, and the notification that says so: one text for all who wrote it alike. */
  updated(uri: string, message: string): void
  /** Lists are another in these parts, one at least of those that it wants to hear of. */
  listChanged(parts: readonly ListPart[]): void
}

/** Who wants to hear of what. A change costs as much as it has subscribers, not as much as there are. */
export class Hub {
  /** Canonical URI to subscribers, and the spellings each of them used. */
  readonly #byUri = new Map<string, Map<Subscriber, Set<string>>>()
  readonly #forLists = new Map<Subscriber, ReadonlySet<ListPart>>()
  readonly #spent: Spent
  #isOver = false
  #updates = 0
  #listChanges = 0

  /** `spent`: of all hubs of the server together. */
  constructor(spent = new Spent()) {
    this.#spent = spent
  }

  /** Whether nothing is told of here any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  close(): void {
    this.#isOver = true
  }

  /** How many URIs are subscribed to by anyone. */
  get size(): number {
    return this.#byUri.size
  }

  /** How many notifications it has given to subscribers so far. */
  get told(): { readonly updates: number; readonly listChanges: number } {
    return { updates: this.#updates, listChanges: this.#listChanges }
  }

  /** Whether all subscriptions together cost what they may. */
  get isFull(): boolean {
    return this.#spent.isAll
  }

  /** Whether there is room for another subscription, once the holder of most gave some up. Without it that one is to be refused. */
  hasRoomFor(asking: Asking): boolean {
    if (this.isFull) this.#spent.free(asking)
    return !this.isFull
  }

  subscribe(subscriber: Subscriber, asked: string, canonical: string): void {
    const subscribers = this.#byUri.get(canonical) ?? new Map<Subscriber, Set<string>>()
    this.#byUri.set(canonical, subscribers)
    const spellings = subscribers.get(subscriber) ?? new Set<string>()
    if (!spellings.has(asked)) this.#spent.add(subscriber.holder, bytesOf(asked, canonical))
    subscribers.set(subscriber, spellings.add(asked))
  }

  unsubscribe(subscriber: Subscriber, asked: string, canonical: string): void {
    const subscribers = this.#byUri.get(canonical)
    const spellings = subscribers?.get(subscriber)
    if (subscribers === undefined || spellings === undefined) return
    if (spellings.delete(asked)) this.#spent.add(subscriber.holder, -bytesOf(asked, canonical))
    if (spellings.size === 0) subscribers.delete(subscriber)
    if (subscribers.size === 0) this.#byUri.delete(canonical)
  }

  subscribeToLists(subscriber: Subscriber, wanted = EVERY_PART): void {
    this.#forLists.set(subscriber, wanted)
  }

  unsubscribeFromLists(subscriber: Subscriber): void {
    this.#forLists.delete(subscriber)
  }

  /** Tells each subscriber each of its URIs once. */
  tell(events: Events): void {
    for (const uri of events.updated) {
      const subscribers = this.#byUri.get(uri)
      if (subscribers !== undefined) this.#updates += tellAll(subscribers)
    }
    const parts = listPartsOf(events)
    if (parts.length === 0) return
    for (const [subscriber, wanted] of this.#forLists) {
      const told = parts.filter((part) => wanted.has(part))
      if (told.length === 0) continue
      subscriber.listChanged(told)
      this.#listChanges += 1
    }
  }
}

/** Ends subscriptions of a holder, as many as it takes for another one to have room. */
export type Free = (holder: Holder, asking: Asking) => void

/** A subscriber that is, or one that is about to be. */
export type Asking = Pick<Subscriber, 'holder'>

/** What subscriptions cost, as far as it is worth counting, by their holders. */
export class Spent {
  readonly #byHolder = new Map<Holder, number>()
  #bytes = 0
  #free: Free = () => {}

  get isAll(): boolean {
    return this.#bytes >= MAX_BYTES
  }

  add(holder: Holder, bytes: number): void {
    this.#bytes += bytes
    const held = (this.#byHolder.get(holder) ?? 0) + bytes
    if (held === 0) this.#byHolder.delete(holder)
    else this.#byHolder.set(holder, held)
  }

  /** Has room made by this from now on. */
  freeBy(free: Free): void {
    this.#free = free
  }

  free(asking: Asking): void {
    let [largest, most] = [asking.holder, this.#byHolder.get(asking.holder) ?? 0]
    for (const [holder, held] of this.#byHolder) if (held > most) [largest, most] = [holder, held]
    this.#free(largest, asking)
  }
}

/** What all clients together may subscribe to: most of a million URIs of usual length. */
const MAX_BYTES = 2 ** 28

/** What a subscription costs, as far as it is worth counting. */
function bytesOf(asked: string, canonical: string): number {
  return Buffer.byteLength(asked) + Buffer.byteLength(canonical) + 200
}

/** Says how many notifications that took. */
function tellAll(subscribers: ReadonlyMap<Subscriber, ReadonlySet<string>>): number {
  const messages = new Map<string, string>()
  let told = 0
  for (const [subscriber, spellings] of subscribers) {
    for (const asked of spellings) {
      const message = messages.get(asked) ?? updateOf(asked)
      messages.set(asked, message)
      subscriber.updated(asked, message)
    }
    told += spellings.size
  }
  return told
}

/** The notification of one resource, as it is without a subscription id. */
export function updateOf(uri: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } })
}
