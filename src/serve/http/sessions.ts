import { randomBytes } from 'node:crypto'
import type { Subscriptions } from '../mcp/caller.ts'
import type { Hub, Subscriber } from '../mcp/hub.ts'
import { RpcError, INVALID_PARAMS } from '../mcp/rpc-error.ts'
import type { EventStream } from './event-stream.ts'

export interface SessionLimits {
  readonly sessions: number
  /** A session without a stream that was not used for so long is over. */
  readonly idleMs: number
  /** URIs that one session may subscribe to. */
  readonly subscriptions: number
}

/** The defaults of `design` section 9. */
export const SESSION_LIMITS: SessionLimits = { sessions: 10_000, idleMs: 30 * 24 * 3_600_000, subscriptions: 10_000 }

/** One client of the 2025 era: what it subscribed to, and the stream that it listens on. */
export class Session implements Subscriber, Subscriptions {
  readonly id: string
  readonly #hub: Hub
  readonly #limit: number
  readonly #subscribed = new Map<string, string>()
  /** What happened while no stream was open: sent when one is. No longer than the list of subscriptions. */
  readonly #missed = new Set<string>()
  #stream: EventStream | undefined

  constructor(id: string, hub: Hub, limit: number) {
    this.id = id
    this.#hub = hub
    this.#limit = limit
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
    if (this.#subscribed.size >= this.#limit) {
      throw new RpcError(
        INVALID_PARAMS,
        `A session can subscribe to ${this.#limit} resources; unsubscribe from some, or subscribe to their folder`,
      )
    }
    this.#subscribed.set(asked, canonical)
    this.#hub.subscribe(this, asked, canonical)
  }

  unsubscribe(asked: string): void {
    const canonical = this.#subscribed.get(asked)
    if (canonical === undefined) return
    this.#subscribed.delete(asked)
    this.#hub.unsubscribe(this, asked, canonical)
  }

  updated(uri: string): void {
    this.#send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } }))
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

/** All sessions of the server, the least recently used first. */
export class Sessions {
  readonly #byId = new Map<string, { readonly session: Session; usedAt: number }>()
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
    const session = new Session(randomBytes(24).toString('base64url'), this.#hub, this.#limits.subscriptions)
    this.#byId.set(session.id, { session, usedAt: this.#now() })
    return session
  }

  find(id: string): Session | undefined {
    const entry = this.#byId.get(id)
    if (entry === undefined) return undefined
    entry.usedAt = this.#now()
    this.#byId.delete(id)
    this.#byId.set(id, entry)
    return entry.session
  }

  close(session: Session): void {
    this.#byId.delete(session.id)
    session.end()
  }

  /** Ends what is idle for too long and, when full, the one that was unused for longest. Those with a stream are in use. */
  #evict(): void {
    for (const { session, usedAt } of this.#byId.values()) {
      const isFull = this.#byId.size >= this.#limits.sessions
      const isOld = this.#now() - usedAt > this.#limits.idleMs
      if (!isFull && !isOld) return
      if (!session.isListening) this.close(session)
    }
  }
}
