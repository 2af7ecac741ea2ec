import type { Events } from './events.ts'

/** One place that notifications go to: a session, or one listen stream. */
export interface Subscriber {
  /** `uri` as this subscriber wrote it, and the notification that says so: one text for all who wrote it alike. */
  updated(uri: string, message: string): void
  listChanged(): void
}

/** Who wants to hear of what. A change costs as much as it has subscribers, not as much as there are. */
export class Hub {
  /** Canonical URI to subscribers, and the spellings each of them used. */
  readonly #byUri = new Map<string, Map<Subscriber, Set<string>>>()
  readonly #forLists = new Set<Subscriber>()

  /** How many URIs are subscribed to by anyone. */
  get size(): number {
    return this.#byUri.size
  }

  subscribe(subscriber: Subscriber, asked: string, canonical: string): void {
    const subscribers = this.#byUri.get(canonical) ?? new Map<Subscriber, Set<string>>()
    this.#byUri.set(canonical, subscribers)
    const spellings = subscribers.get(subscriber) ?? new Set<string>()
    subscribers.set(subscriber, spellings.add(asked))
  }

  unsubscribe(subscriber: Subscriber, asked: string, canonical: string): void {
    const subscribers = this.#byUri.get(canonical)
    const spellings = subscribers?.get(subscriber)
    if (subscribers === undefined || spellings === undefined) return
    spellings.delete(asked)
    if (spellings.size === 0) subscribers.delete(subscriber)
    if (subscribers.size === 0) this.#byUri.delete(canonical)
  }

  subscribeToLists(subscriber: Subscriber): void {
    this.#forLists.add(subscriber)
  }

  unsubscribeFromLists(subscriber: Subscriber): void {
    this.#forLists.delete(subscriber)
  }

  /** Tells each subscriber each of its URIs once. */
  tell(events: Events): void {
    for (const uri of events.updated) {
      const subscribers = this.#byUri.get(uri)
      if (subscribers !== undefined) tellAll(subscribers)
    }
    if (events.listChanged) for (const subscriber of this.#forLists) subscriber.listChanged()
  }
}

function tellAll(subscribers: ReadonlyMap<Subscriber, ReadonlySet<string>>): void {
  const messages = new Map<string, string>()
  for (const [subscriber, spellings] of subscribers) {
    for (const asked of spellings) {
      const message = messages.get(asked) ?? messageOf(asked)
      messages.set(asked, message)
      subscriber.updated(asked, message)
    }
  }
}

function messageOf(uri: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } })
}
