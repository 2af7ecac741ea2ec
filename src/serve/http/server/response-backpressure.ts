import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Limits the memory of responses until their clients have read them: one budget per listener, and a deadline for
 * clients that do not read. Event streams have their own limits (`EventStream`).
 */
export class ResponseBackpressure implements Disposable {
  readonly #most: number
  #bytes = 0
  readonly #held = new Map<ServerResponse, Held>()
  /** True if a response was refused since the last check. */
  #isScarce = false
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, most = MOST_BYTES) {
    this.#most = most
    server.on('connection', (socket: Socket) => OF_CONNECTION.set(socket, this))
    this.#timer = setInterval(() => this.endStuck(), CHECK_S * 1_000).unref()
  }

  get bytes(): number {
    return this.#bytes
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  /**
   * Reserves room for a response of `bytes` until the response closes; false if there is none. A second call replaces
   * the first number. A response always has room if it is the only one.
   */
  hold(response: ServerResponse, bytes: number): boolean {
    // It is closed already, and will not emit `close` again.
    if (response.destroyed) return false
    const others = this.#bytes - (this.#held.get(response)?.bytes ?? 0)
    if (others > 0 && others + bytes > this.#most) {
      this.#isScarce = true
      return false
    }
    this.#count(response, bytes)
    return true
  }

  /** Starts to check that the client reads the response. `written` returns the bytes written so far. */
  watch(response: ServerResponse, bytes: number, written: () => number): void {
    if (response.destroyed) return
    const held = this.#held.get(response) ?? this.#count(response, bytes)
    held.written = written
    // Small responses are never refused, so their total needs a hard limit.
    if (this.#bytes > this.#most + SLACK_BYTES) response.destroy()
  }

  /** Destroys responses that were not read for long, and those that are read too slowly. Called by a timer. */
  endStuck(): void {
    const bytesPerS = this.#isScarce ? SCARCE_BYTES_PER_S : BYTES_PER_S
    this.#isScarce = false
    for (const [response, held] of this.#held) {
      if (held.written === undefined) continue
      const taken = held.written() - (response.socket?.writableLength ?? 0)
      held.idleS = taken > held.taken ? 0 : held.idleS + CHECK_S
      held.ageS += CHECK_S
      held.taken = taken
      if (held.idleS >= STALLED_S || taken < (held.ageS - STALLED_S) * bytesPerS) response.destroy()
    }
  }

  #count(response: ServerResponse, bytes: number): Held {
    let held = this.#held.get(response)
    if (held === undefined) {
      held = { bytes: 0, written: undefined, taken: 0, ageS: 0, idleS: 0 }
      this.#held.set(response, held)
      response.once('close', () => this.#release(response))
    }
    this.#bytes += bytes - held.bytes
    held.bytes = bytes
    return held
  }

  #release(response: ServerResponse): void {
    this.#bytes -= this.#held.get(response)?.bytes ?? 0
    this.#held.delete(response)
  }
}

/**
 * Returns the instance of a response's listener. It is found by the connection, because many paths lead from a listener
 * to a send.
 */
export function unsentOf({ req }: ServerResponse): ResponseBackpressure | undefined {
  return OF_CONNECTION.get(req.socket)
}

const OF_CONNECTION = new WeakMap<Socket, ResponseBackpressure>()

interface Held {
  bytes: number
  /** `undefined` while the response is being built. */
  written: (() => number) | undefined
  taken: number
  ageS: number
  idleS: number
}

const MOST_BYTES = 512 * 2 ** 20
const SLACK_BYTES = 64 * 2 ** 20

const CHECK_S = 5

/** A client that reads nothing for this time is dropped. The rates below apply only after the same time. */
const STALLED_S = 30
const BYTES_PER_S = 6_554
/** The minimum rate of all responses while others are refused. */
const SCARCE_BYTES_PER_S = 65_536
