import type { ServerResponse } from 'node:http'
import { isOver } from '../../principal.ts'
import type { Principal } from '../../principal.ts'
import { NO_HOLDER, Shares } from '../../fair-shares.ts'
import type { Holder } from '../../fair-shares.ts'
import type { ViewName } from '../../views.ts'
import { hasWaited } from './connections.ts'

/** What may wait for a client that does not read, if nothing else is said. */
const PENDING_BYTES = 2 ** 20

/** So much is handed to the connection at once: thousands of small writes cost several times their bytes. */
const WRITE_BYTES = 2 ** 16

/**
 * A stream of server-sent events. While the client does not read, equal messages are held once: a notification says no more
 * than "look again", so one that waits stands for all that follow.
 */
export class EventStream implements Disposable {
  readonly #response: ServerResponse
  /** Made when a client first does not read: there are thousands of streams, and nearly none of them ever waits. */
  #pending: Set<string> | undefined
  #pendingBytes = 0
  /** Whether the client took something since that was last asked. */
  #isReading = false
  #onClear: (() => void) | undefined
  /** How much the client had taken when that was last looked at, and at how many looks in a row it was no more. */
  #taken = 0
  #stalls = 0
  readonly #maxPending: number

  /** Above `maxPending` bytes that the client has not read, the connection is closed: it costs no more than its place. */
  constructor(response: ServerResponse, headers: Readonly<Record<string, string>> = {}, maxPending = PENDING_BYTES) {
    this.#response = response
    this.#maxPending = maxPending
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
    // Nobody waits for a write that comes too late; without a listener its error would end the process.
    response.on('error', () => {})
    closeWithClient(response)
  }

  /** Sends one JSON-RPC message, already serialised. */
  send(json: string): void {
    if (this.#response.writableEnded) return
    if (this.#response.writableNeedDrain || this.#response.destroyed) this.#hold(json)
    else this.#response.write(frameOf(json))
  }

  /** Whether all that was to be sent is on its way. */
  get isClear(): boolean {
    return this.#pending === undefined || this.#pending.size === 0
  }

  /** What a client that did not read was not sent. */
  get unsent(): Iterable<string> {
    return this.#pending ?? []
  }

  /**
   * A comment: it keeps proxies from closing an idle stream, and finds out a peer that is gone. To be called now and then, also
   * once the stream was ended: a client that takes nothing from one call to the next, and to the next, loses its connection.
   */
  keepAlive(): void {
    this.#dropIfStuck()
    this.#dropIfStalled()
    const { writableEnded, destroyed, writableNeedDrain } = this.#response
    // One that was ended stays open until its turn comes on its connection.
    if (!writableEnded && !destroyed && !writableNeedDrain) this.#response.write(': keep-alive\n\n')
  }

  onClose(callback: () => void): void {
    this.#response.once('close', callback)
  }

  /** Called whenever the client, having been slow, was sent all that waited for it. */
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
    // A client that reads has taken some of it a turn later.
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
        frames += frameOf(json)
        pending.delete(json)
        this.#pendingBytes -= json.length
      }
      this.#response.write(frames)
    }
  }
}

/** So many looks without anything taken are no slow client any more. */
const MOST_STALLS = 2

/** A client that closes its side has left: with something unsent Node would wait for it to be taken, which it never is. */
function closeWithClient(response: ServerResponse): void {
  const { socket } = response
  const leave = (): void => void response.destroy()
  socket?.once('end', leave)
  response.once('close', () => socket?.off('end', leave))
}

function frameOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`
}

/**
 * Why no stream can be opened on a response, or undefined. One that waits behind another answer of its connection may wait
 * for ever, and Node 22.12 never tells that it is closed: nothing that is held for it would be given back.
 */
export function refusalOfStream(response: ServerResponse): string | undefined {
  return response.socket === null || hasWaited(response) ? 'A stream needs a connection of its own' : undefined
}

/** Every open stream of the server: counted for its holder, kept alive by one timer, closed together. */
export class EventStreams implements Disposable {
  readonly #open = new Map<EventStream, Opened>()
  readonly #shares = new Shares<EventStream>()
  /** Those that were ended by us, until their clients have taken the rest: they count for no place. */
  readonly #ending = new Set<EventStream>()
  /** What may wait for a client that does not read. */
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

  /** Whether a holder may open another one. Where all places are taken, the holder of most gives up the one that it opened first. */
  hasRoomFor(holder: Holder): boolean {
    const giver = this.isFull ? this.#shares.giverTo(holder) : undefined
    if (giver !== undefined) this.#endFirstOf(giver)
    return !this.isFull
  }

  /** Ends streams of a holder, the one opened first before all others, for as long as it is asked for. */
  endThoseOf(holder: Holder, isWanted: () => boolean): void {
    while (isWanted() && this.#shares.countOf(holder) > 0) this.#endFirstOf(holder)
  }

  /** `farewell` is called before the stream is ended by us. It is ended once its principal is over. */
  add(stream: EventStream, farewell: () => void, { holder = NO_HOLDER, principal, view }: Owner = {}): void {
    this.#open.set(stream, { farewell, holder, principal, view })
    this.#shares.hold(holder, stream)
    stream.onClose(() => this.#forget(stream))
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer)
    for (const stream of this.#open.keys()) this.#end(stream)
  }

  /** Ends the streams of tokens that have expired or were revoked. */
  endThoseOver(): void {
    for (const [stream, { principal }] of this.#open) if (isOver(principal)) this.#end(stream)
  }

  /** Whether any stream tells of the view. */
  isOpenIn(view: ViewName): boolean {
    for (const opened of this.#open.values()) if (opened.view === view) return true
    return false
  }

  endThoseIn(view: ViewName): void {
    for (const [stream, opened] of this.#open) if (opened.view === view) this.#end(stream)
  }

  /** Ends the streams of those who see other packs now: what they listen to is the part that they saw before. */
  endThoseWith(packs: ReadonlySet<string>): void {
    for (const [stream, { principal }] of this.#open) {
      if ([...(principal?.packs ?? [])].some((id) => packs.has(id))) this.#end(stream)
    }
  }

  #end(stream: EventStream): void {
    this.#open.get(stream)?.farewell()
    this.#forget(stream)
    this.#ending.add(stream)
    stream.onClose(() => this.#ending.delete(stream))
    stream.end()
  }

  #endFirstOf(holder: Holder): void {
    for (const stream of this.#shares.placesOf(holder)) return this.#end(stream)
  }

  #forget(stream: EventStream): void {
    this.#shares.release(this.#open.get(stream)?.holder ?? NO_HOLDER, stream)
    this.#open.delete(stream)
  }

  #keepAlive(): void {
    for (const stream of [...this.#open.keys(), ...this.#ending]) stream.keepAlive()
  }
}

/** So much longer than its token a stream may live. */
const EXPIRY_CHECK_MS = 1_000

/** The party that a stream is opened by. */
interface Owner {
  readonly holder?: Holder
  readonly principal?: Principal | undefined
  /** The view that it tells of. */
  readonly view?: ViewName | undefined
}

interface Opened {
  readonly farewell: () => void
  readonly holder: Holder
  readonly principal: Principal | undefined
  readonly view: ViewName | undefined
}

interface StreamLimits {
  readonly streams: number
  readonly streamBytes?: number | undefined
  readonly keepAliveMs: number
}
