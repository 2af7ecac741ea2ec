import type { ShareHolder } from '../../fair-shares.ts'
import type { Events } from './events.ts'
import { EVERY_PART } from './list-kinds.ts'
import type { ListPart } from './list-kinds.ts'

/** A target of notifications: a session, or one listen stream. */
export interface Subscriber {
  /** The holder that its subscriptions count for. */
  readonly holder: ShareHolder
  /**
   * Sends an update. `uri` is in this subscriber's spelling; `message` is the serialized notification, shared by all
   * subscribers with the same spelling.
   */
  updated(uri: string, message: string): void
  /** Notifies of changed lists, at least one of which the subscriber wants. */
  listChanged(parts: readonly ListPart[]): void
}

/** Maps resources to subscribers. The cost of a change depends on its own subscribers, not on their total number. */
export class Subscriptions {
  /** The subscribers of each canonical URI, and the spellings that each of them used. */
  readonly #byUri = new Map<string, Map<Subscriber, Set<string>>>()
  readonly #forLists = new Map<Subscriber, ReadonlySet<ListPart>>()
  readonly #spent: SubscriptionCost
  #isOver = false
  #updates = 0
  #listChanges = 0

  /** `spent`: the costs of all hubs of the server together. */
  constructor(spent = new SubscriptionCost()) {
    this.#spent = spent
  }

  /** True if the hub sends no more notifications. */
  get isOver(): boolean {
    return this.#isOver
  }

  close(): void {
    this.#isOver = true
  }

  /** Number of subscribed URIs. */
  get size(): number {
    return this.#byUri.size
  }

  /** The number of notifications sent so far. */
  get told(): { readonly updates: number; readonly listChanges: number } {
    return { updates: this.#updates, listChanges: this.#listChanges }
  }

  /** True if all subscriptions together reach the limit. */
  get isFull(): boolean {
    return this.#spent.isAll
  }

  /**
   * Returns true if there is room for another subscription. To make room, the holder with the most may lose some. If
   * false, the caller must refuse the subscription.
   */
  hasRoomFor(asking: SubscriptionHolder): boolean {
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

  /** Notifies each subscriber once for each of its URIs. */
  tell(events: Events): void {
    for (const uri of events.updated) {
      const subscribers = this.#byUri.get(uri)
      if (subscribers !== undefined) this.#updates += tellAll(subscribers)
    }
    if (events.lists.length === 0) return
    for (const [subscriber, wanted] of this.#forLists) {
      const told = events.lists.filter((part) => wanted.has(part))
      if (told.length === 0) continue
      subscriber.listChanged(told)
      this.#listChanges += 1
    }
  }
}

/** Ends subscriptions of a holder until there is room for another one. */
export type Free = (holder: ShareHolder, asking: SubscriptionHolder) => void

/** A current or future subscriber. */
export type SubscriptionHolder = Pick<Subscriber, 'holder'>

/** The approximate cost of subscriptions, by holder. */
export class SubscriptionCost {
  readonly #byHolder = new Map<ShareHolder, number>()
  #bytes = 0
  #free: Free = () => {}

  get isAll(): boolean {
    return this.#bytes >= MAX_BYTES
  }

  add(holder: ShareHolder, bytes: number): void {
    this.#bytes += bytes
    const held = (this.#byHolder.get(holder) ?? 0) + bytes
    if (held === 0) this.#byHolder.delete(holder)
    else this.#byHolder.set(holder, held)
  }

  /** Sets the function that makes room. */
  freeBy(free: Free): void {
    this.#free = free
  }

  free(asking: SubscriptionHolder): void {
    let [largest, most] = [asking.holder, this.#byHolder.get(asking.holder) ?? 0]
    for (const [holder, held] of this.#byHolder) if (held > most) [largest, most] = [holder, held]
    this.#free(largest, asking)
  }
}

/** Limit for all clients together: nearly a million URIs of usual length. */
const MAX_BYTES = 2 ** 28

/** The approximate cost of a subscription in bytes. */
function bytesOf(asked: string, canonical: string): number {
  return Buffer.byteLength(asked) + Buffer.byteLength(canonical) + 200
}

/** Returns the number of notifications sent. */
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

/** Serializes the update of one resource, without a subscription id. */
export function updateOf(uri: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } })
}
