import type { ServerResponse } from 'node:http'
import { NO_HOLDER, FairShares } from '../../fair-shares.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import { isOver } from '../../principal.ts'
import type { Principal } from '../../principal.ts'
import { partsOfView } from '../../view.ts'
import type { View, ViewName } from '../../view.ts'
import { hasWaited } from './connections.ts'

/** Default limit of bytes that wait for a client that does not read. */
const PENDING_BYTES = 2 ** 20

/** Bytes per write to the connection: thousands of small writes cost several times their bytes. */
const WRITE_BYTES = 2 ** 16

/**
 * Stream of server-sent events. While the client does not read, equal messages are queued once: a notification only
 * says that something changed, so one waiting message stands for all equal ones that follow.
 */
export class EventStream implements Disposable {
  readonly #response: ServerResponse
  /** Created when the client first stops reading: there are thousands of streams, and nearly none ever waits. */
  #pending: Set<string> | undefined
  #pendingBytes = 0
  /** True if the client has read something since the last check. */
  #isReading = false
  #onClear: (() => void) | undefined
  /** Bytes that the client had read at the last check, and the number of checks in a row without progress. */
  #taken = 0
  #stalls = 0
  readonly #maxPending: number
  readonly #idOf: ((json: string) => string) | undefined

  /**
   * Opens the stream. With more than `maxPending` unread bytes the connection is closed, so that a slow client has a
   * bounded cost. `idOf` is called with each message when it is sent; without it, events have no ids.
   */
  constructor(
    response: ServerResponse,
    headers: Readonly<Record<string, string>> = {},
    maxPending = PENDING_BYTES,
    idOf?: (json: string) => string,
  ) {
    this.#response = response
    this.#maxPending = maxPending
    this.#idOf = idOf
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    })
    // The client waits for the head, not for the first event.
    response.flushHeaders()
    response.on('drain', () => {
      this.#isReading = true
      this.#flush(() => !response.writableNeedDrain)
      if (this.isClear) this.#onClear?.()
    })
    // The error of a late write matters to no client, but without a listener it would end the process.
    response.on('error', () => {})
    closeWithClient(response)
  }

  /** Sends one serialized JSON-RPC message. */
  send(json: string): void {
    if (this.#response.writableEnded) return
    if (this.#response.writableNeedDrain || this.#response.destroyed) this.#hold(json)
    else this.#response.write(this.#frameOf(json))
  }

  /** True if no message waits. */
  get isClear(): boolean {
    return this.#pending === undefined || this.#pending.size === 0
  }

  /** The messages not sent because the client did not read. */
  get unsent(): Iterable<string> {
    return this.#pending ?? []
  }

  /** Returns the messages not sent, and forgets them. */
  takeUnsent(): readonly string[] {
    const unsent = [...this.unsent]
    this.#pending = undefined
    this.#pendingBytes = 0
    return unsent
  }

  /**
   * Sends a comment: it keeps proxies from closing an idle stream, and detects a dead peer. Call it regularly, also
   * after `end`: a client that reads nothing between three calls in a row is disconnected.
   */
  keepAlive(): void {
    this.#dropIfStuck()
    this.#dropIfStalled()
    const { writableEnded, destroyed, writableNeedDrain } = this.#response
    // An ended stream stays open until its turn on the connection.
    if (!writableEnded && !destroyed && !writableNeedDrain) this.#response.write(': keep-alive\n\n')
  }

  onClose(callback: () => void): void {
    this.#response.once('close', callback)
  }

  /** Called whenever a slow client has been sent all waiting messages. */
  onClear(callback: () => void): void {
    this.#onClear = callback
  }

  end(): void {
    this.#flush(() => true)
    this.#response.end()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #hold(json: string): void {
    this.#pending ??= new Set()
    if (this.#pending.has(json)) return
    const wasWithin = this.#pendingBytes <= this.#maxPending
    this.#pending.add(json)
    this.#pendingBytes += json.length
    if (!wasWithin || this.#pendingBytes <= this.#maxPending) return
    this.#isReading = false
    // A client that reads has read some of it one turn later.
    setImmediate(() => this.#dropIfStuck())
  }

  #dropIfStuck(): void {
    if (this.#pendingBytes > this.#maxPending && !this.#isReading) this.#response.destroy()
    this.#isReading = false
  }

  #dropIfStalled(): void {
    const { socket } = this.#response
    if (socket === null) return
    const taken = socket.bytesWritten - socket.writableLength
    this.#stalls = socket.writableLength > 0 && taken === this.#taken ? this.#stalls + 1 : 0
    this.#taken = taken
    if (this.#stalls >= MOST_STALLS) this.#response.destroy()
  }

  #flush(mayWrite: () => boolean): void {
    const pending = this.#pending
    if (pending === undefined) return
    while (pending.size > 0 && !this.#response.destroyed && mayWrite()) {
      let frames = ''
      for (const json of pending) {
        if (frames.length >= WRITE_BYTES) break
        frames += this.#frameOf(json)
        pending.delete(json)
        this.#pendingBytes -= json.length
      }
      this.#response.write(frames)
    }
  }

  #frameOf(json: string): string {
    const id = this.#idOf === undefined ? '' : `id: ${this.#idOf(json)}\n`
    return `event: message\n${id}data: ${json}\n\n`
  }
}

/** The number of checks without progress after which the client counts as stalled. */
const MOST_STALLS = 2

/**
 * A client that closes its side has left. Node would keep the connection until the unsent data is read, which never
 * happens.
 */
function closeWithClient(response: ServerResponse): void {
  const { socket } = response
  const leave = (): void => void response.destroy()
  socket?.once('end', leave)
  response.once('close', () => socket?.off('end', leave))
}

/**
 * Returns the reason why no stream can be opened on a response, or `undefined`. A stream behind another response of its
 * connection may wait forever, and Node 22.12 never emits its `close`: its resources would leak.
 */
export function refusalOfStream(response: ServerResponse): string | undefined {
  return response.socket === null || hasWaited(response) ? 'A stream needs a connection of its own' : undefined
}

/** All open streams of the server: counted by holder, kept alive by one timer, closed together. */
export class EventStreams implements Disposable {
  readonly #open = new Map<EventStream, Opened>()
  readonly #shares = new FairShares<EventStream>()
  /** Streams that the server ended, until their clients have read the rest. They take no place. */
  readonly #ending = new Set<EventStream>()
  /** Limit of bytes that wait for a client that does not read. */
  readonly pendingBytes: number | undefined
  readonly #limit: number
  readonly #timers: readonly NodeJS.Timeout[]

  constructor(limits: StreamLimits) {
    this.#limit = limits.streams
    this.pendingBytes = limits.streamBytes
    this.#timers = [
      setInterval(() => this.#keepAlive(), limits.keepAliveMs).unref(),
      setInterval(() => this.endThoseOver(), EXPIRY_CHECK_MS).unref(),
    ]
  }

  get size(): number {
    return this.#open.size
  }

  get isFull(): boolean {
    return this.#open.size >= this.#limit
  }

  /**
   * Returns true if the holder may open another stream. If all places are taken, the holder with the most loses its
   * oldest stream.
   */
  hasRoomFor(holder: ShareHolder): boolean {
    const giver = this.isFull ? this.#shares.giverTo(holder) : undefined
    if (giver !== undefined) this.#endFirstOf(giver)
    return !this.isFull
  }

  /** Ends streams of a holder, oldest first, while `isWanted` returns true. */
  endThoseOf(holder: ShareHolder, isWanted: () => boolean): void {
    while (isWanted() && this.#shares.countOf(holder) > 0) this.#endFirstOf(holder)
  }

  /**
   * Adds a stream. `farewell` is called before the server ends the stream. The stream ends when its principal is over.
   */
  add(stream: EventStream, farewell: () => void, { holder = NO_HOLDER, principal, view }: Owner = {}): void {
    this.#open.set(stream, { farewell, holder, principal, view })
    this.#shares.hold(holder, stream)
    stream.onClose(() => this.#forget(stream))
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer)
    for (const stream of this.#open.keys()) this.end(stream)
  }

  /** Ends the streams of tokens that have expired or were revoked. */
  endThoseOver(): void {
    for (const [stream, { principal }] of this.#open) if (isOver(principal)) this.end(stream)
  }

  /** True if any stream listens in the view. */
  isOpenIn(view: ViewName): boolean {
    for (const opened of this.#open.values()) if (opened.view === view) return true
    return false
  }

  endThoseIn(view: ViewName): void {
    for (const [stream, opened] of this.#open) if (opened.view === view) this.end(stream)
  }

  /**
   * Ends the streams of clients that may see one of these packs, because the packs have changed, and of clients whose ring
   * has changed: such a stream still listens to the old view.
   */
  endMoved(packs: ReadonlySet<string>, viewOf: (principal: Principal | undefined) => View): void {
    for (const [stream, { principal, view }] of this.#open) {
      const now = viewOf(principal)
      const isInOtherRing = view !== undefined && partsOfView(view).ring !== now.ring
      if (isInOtherRing || now.packs?.isDisjointFrom(packs) === false) this.end(stream)
    }
  }

  /** Ends a stream. It takes no place any more, whenever its client has read the rest. */
  end(stream: EventStream): void {
    this.#open.get(stream)?.farewell()
    this.#forget(stream)
    this.#ending.add(stream)
    stream.onClose(() => this.#ending.delete(stream))
    stream.end()
  }

  #endFirstOf(holder: ShareHolder): void {
    for (const stream of this.#shares.placesOf(holder)) return this.end(stream)
  }

  #forget(stream: EventStream): void {
    this.#shares.release(this.#open.get(stream)?.holder ?? NO_HOLDER, stream)
    this.#open.delete(stream)
  }

  #keepAlive(): void {
    for (const stream of [...this.#open.keys(), ...this.#ending]) stream.keepAlive()
  }
}

/** Maximum time that a stream outlives its token. */
const EXPIRY_CHECK_MS = 1_000

/** The party that opened a stream. */
interface Owner {
  readonly holder?: ShareHolder
  readonly principal?: Principal | undefined
  /** The view that the stream listens to. */
  readonly view?: ViewName | undefined
}

interface Opened {
  readonly farewell: () => void
  readonly holder: ShareHolder
  readonly principal: Principal | undefined
  readonly view: ViewName | undefined
}

interface StreamLimits {
  readonly streams: number
  readonly streamBytes?: number | undefined
  readonly keepAliveMs: number
}
