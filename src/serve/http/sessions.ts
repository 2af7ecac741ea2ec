import { randomBytes } from 'node:crypto'
import { MAX_SUBSCRIPTIONS } from '../mcp/caller.ts'
import type { Subscriptions } from '../mcp/caller.ts'
import type { Hub, Subscriber } from '../mcp/hub.ts'
import { tooManySubscriptions } from '../mcp/rpc-error.ts'
import type { EventStream } from './event-stream.ts'

/** How many sessions there may be, and for how long. */
export interface SessionLimits {
  readonly sessions: number
  /** A session without a stream that was not used for so long is over. */
  readonly idleMs: number
}

/** One client of the 2025 era: what it subscribed to, and the stream that it listens on. */
export class Session implements Subscriber, Subscriptions {
  readonly id: string
  readonly #hub: Hub
  readonly #subscribed = new Map<string, string>()
  /** What happened while no stream was open: sent when one is. No longer than the list of subscriptions. */
  readonly #missed = new Set<string>()
  #stream: EventStream | undefined

  constructor(id: string, hub: Hub) {
    this.id = id
    this.#hub = hub
    hub.subscribeToLists(this)
  }

  get isListening(): boolean {
    return this.#stream !== undefined
  }

  /** From here on messages go to this stream. A session has one at a time. */
  listenOn(stream: EventStream): void {
    this.#stream = stream
    stream.onClose(() => {
      if (this.#stream !== stream) return
      this.#stream = undefined
      for (const json of stream.unsent) this.#missed.add(json)
    })
    for (const json of this.#missed) stream.send(json)
    this.#missed.clear()
  }

  subscribe(asked: string, canonical: string): void {
    if (!this.#subscribed.has(asked) && this.#subscribed.size >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
    this.#subscribed.set(asked, canonical)
    this.#hub.subscribe(this, asked, canonical)
  }

  unsubscribe(asked: string): void {
    const canonical = this.#subscribed.get(asked)
    if (canonical === undefined) return
    this.#subscribed.delete(asked)
    this.#hub.unsubscribe(this, asked, canonical)
  }

  updated(_uri: string, message: string): void {
    this.#send(message)
  }

  listChanged(): void {
    this.#send('{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}')
  }

  end(): void {
    this.#hub.unsubscribeFromLists(this)
    for (const asked of this.#subscribed.keys()) this.unsubscribe(asked)
    this.#stream?.end()
  }

  #send(json: string): void {
    if (this.#stream === undefined) this.#missed.add(json)
    else this.#stream.send(json)
  }
}

interface Used {
  readonly session: Session
  readonly usedAt: number
}

/** All sessions of the server, the least recently used first. */
export class Sessions {
  readonly #byId = new Map<string, Used>()
  readonly #hub: Hub
  readonly #limits: SessionLimits
  readonly #now: () => number

  constructor(hub: Hub, limits: SessionLimits, now: () => number) {
    this.#hub = hub
    this.#limits = limits
    this.#now = now
  }

  get size(): number {
    return this.#byId.size
  }

  /** Opens a session. Idle ones make room; undefined when all of them are in use. */
  open(): Session | undefined {
    this.#evict()
    if (this.#byId.size >= this.#limits.sessions) return undefined
    const session = new Session(randomBytes(24).toString('base64url'), this.#hub)
    this.#byId.set(session.id, { session, usedAt: this.#now() })
    return session
  }

  /** The session of an id, which is used by that. One that was idle for too long is over, though nothing had ended it. */
  find(id: string): Session | undefined {
    const entry = this.#byId.get(id)
    if (entry === undefined) return undefined
    const { session } = entry
    if (this.#isOld(entry) && !session.isListening) {
      this.close(session)
      return undefined
    }
    this.use(session)
    return session
  }

  /** Makes a session the one used last. A stream that ends is a use: the client may come back for another. */
  use(session: Session): void {
    if (this.#byId.delete(session.id)) this.#byId.set(session.id, { session, usedAt: this.#now() })
  }

  close(session: Session): void {
    this.#byId.delete(session.id)
    session.end()
  }

  /** Ends what is idle for too long and, when full, the one that was unused for longest. Those with a stream are in use. */
  #evict(): void {
    for (const entry of this.#byId.values()) {
      const isFull = this.#byId.size >= this.#limits.sessions
      if (!isFull && !this.#isOld(entry)) return
      if (!entry.session.isListening) this.close(entry.session)
    }
  }

  #isOld({ usedAt }: Used): boolean {
    return this.#now() - usedAt > this.#limits.idleMs
  }
}
