import type { Readable } from 'node:stream'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'

/**
 * What one client over stdio may have on its way at once. What it asks beyond that waits, in its order, and nothing more is read
 * of its input: a client that asks and does not read costs no more than this.
 */
export class StdioInflow {
  readonly #input: Pick<Readable, 'pause' | 'resume'>
  readonly #costOf: (message: JSONRPCMessage) => number
  readonly #costs = new Map<RequestId, number>()
  readonly #held: JSONRPCMessage[] = []
  #bytes = 0

  /** `costOf`: about how many bytes its answer will have. */
  constructor(input: Pick<Readable, 'pause' | 'resume'>, costOf: (message: JSONRPCMessage) => number) {
    this.#input = input
    this.#costOf = costOf
  }

  get isHolding(): boolean {
    return this.#held.length > 0
  }

  /** Keeps the message where it has to wait. Says whether it does. */
  hold(message: JSONRPCMessage): boolean {
    if (!this.isHolding && this.#hasRoomFor(message)) return false
    this.#held.push(message)
    this.#input.pause()
    return true
  }

  /** A request is on its way under this id. One that listens has no answer until its end, and that is small. */
  begin(id: RequestId, message: JSONRPCMessage): void {
    if (isListen(message)) return
    const cost = this.#costOf(message)
    this.#costs.set(id, cost)
    this.#bytes += cost
  }

  /** Its answer is written, or nobody waits for it any more. Hands over those that waited for the room, one after another. */
  end(id: RequestId, take: (message: JSONRPCMessage) => void): void {
    this.#bytes -= this.#costs.get(id) ?? 0
    this.#costs.delete(id)
    for (let next = this.#held[0]; next !== undefined && this.#hasRoomFor(next); next = this.#held[0]) {
      this.#held.shift()
      take(next)
    }
    if (!this.isHolding) this.#input.resume()
  }

  #hasRoomFor(message: JSONRPCMessage): boolean {
    if (!('id' in message && 'method' in message) || isListen(message) || this.#costs.size === 0) return true
    return this.#costs.size < MOST_REQUESTS && this.#bytes + this.#costOf(message) <= MOST_BYTES
  }
}

/** As for a client over HTTP, whose batches have at most so many. */
const MOST_REQUESTS = 100
const MOST_BYTES = 64 * 2 ** 20

function isListen(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'subscriptions/listen'
}
