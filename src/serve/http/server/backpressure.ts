import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * What answers hold of the memory until their clients have taken them: one budget for all of a listener, and an end for those
 * whose client does not read. Streams of events have bounds of their own.
 */
export class Unsent implements Disposable {
  readonly #most: number
  #bytes = 0
  readonly #held = new Map<ServerResponse, Held>()
  /** Whether an answer was refused since that was last asked. */
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
   * Whether there is room for an answer of so many bytes, which is held then until the response is closed. Asked again, the
   * number replaces the one before. An answer that is alone always has room.
   */
  hold(response: ServerResponse, bytes: number): boolean {
    // It was closed, and will never say so again.
    if (response.destroyed) return false
    const others = this.#bytes - (this.#held.get(response)?.bytes ?? 0)
    if (others > 0 && others + bytes > this.#most) {
      this.#isScarce = true
      return false
    }
    this.#count(response, bytes)
    return true
  }

  /** Starts to look at whether the client takes what is written: `written` tells how much that is by now. */
  watch(response: ServerResponse, bytes: number, written: () => number): void {
    if (response.destroyed) return
    const held = this.#held.get(response) ?? this.#count(response, bytes)
    held.written = written
    // Small answers are never refused, so what all of them may take has to end somewhere.
    if (this.#bytes > this.#most + SLACK_BYTES) response.destroy()
  }

  /** Ends answers of which nothing was taken for long, and those that are taken too slowly. Called by a timer. */
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

/** The one of the listener that a response is of. Found by its connection: there are many ways from a listener to a send. */
export function unsentOf({ req }: ServerResponse): Unsent | undefined {
  return OF_CONNECTION.get(req.socket)
}

const OF_CONNECTION = new WeakMap<Socket, Unsent>()

interface Held {
  bytes: number
  /** Undefined while the answer is being made. */
  written: (() => number) | undefined
  taken: number
  ageS: number
  idleS: number
}

const MOST_BYTES = 512 * 2 ** 20
const SLACK_BYTES = 64 * 2 ** 20

const CHECK_S = 5

/** A client that takes nothing for so long is given up; so long it may also take its time before the rates below count. */
const STALLED_S = 30
const BYTES_PER_S = 6_554
/** Asked of all while others are refused. */
const SCARCE_BYTES_PER_S = 65_536
