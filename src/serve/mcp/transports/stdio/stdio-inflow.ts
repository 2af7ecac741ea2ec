import type { Readable } from 'node:stream'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'

/**
 * Limits the requests in flight of one stdio client. Further messages wait in order, and the input is paused. A client
 * that sends but does not read therefore has a bounded cost. A message also waits until the data for its cost estimate
 * is built.
 */
export class StdioInflow {
  readonly #input: Pick<Readable, 'pause' | 'resume'>
  readonly #costOf: (message: JSONRPCMessage) => number
  readonly #makingFor: (message: JSONRPCMessage) => Promise<unknown> | undefined
  readonly #costs = new Map<RequestId, number>()
  readonly #held: JSONRPCMessage[] = []
  #bytes = 0
  #isMaking = false
  /** The waiting message that has its data already. */
  #made: JSONRPCMessage | undefined

  /** `costOf`: estimated bytes of the response. `makingFor`: builds the data for that estimate. */
  constructor(
    input: Pick<Readable, 'pause' | 'resume'>,
    costOf: (message: JSONRPCMessage) => number,
    makingFor: (message: JSONRPCMessage) => Promise<unknown> | undefined,
  ) {
    this.#input = input
    this.#costOf = costOf
    this.#makingFor = makingFor
  }

  get isHolding(): boolean {
    return this.#held.length > 0
  }

  /** Holds the message if it must wait, and passes it to `take` later. Returns true if it waits. */
  hold(message: JSONRPCMessage, take: Take): boolean {
    const making = this.isHolding ? undefined : this.#makingFor(message)
    if (!this.isHolding && making === undefined && this.#hasRoomFor(message)) return false
    this.#held.push(message)
    this.#input.pause()
    if (making !== undefined) void this.#releaseAfter(making, message, take)
    return true
  }

  /**
   * Records a request as in flight. A listen request is not counted: its response comes only at its end, and is small.
   */
  begin(id: RequestId, message: JSONRPCMessage): void {
    if (isListen(message)) return
    const cost = this.#costOf(message)
    this.#costs.set(id, cost)
    this.#bytes += cost
  }

  /**
   * Records that the response is written or no longer expected. Passes on the messages that waited for room, one after
   * another.
   */
  end(id: RequestId, take: Take): void {
    this.#bytes -= this.#costs.get(id) ?? 0
    this.#costs.delete(id)
    this.#release(take)
  }

  /** Drops the waiting messages when the connection closes. */
  clear(): void {
    this.#held.length = 0
  }

  #release(take: Take): void {
    for (let next = this.#held[0]; next !== undefined && !this.#isMaking; next = this.#held[0]) {
      const making = next === this.#made ? undefined : this.#makingFor(next)
      if (making !== undefined) {
        // A failure of `making` is reported in the response to the message. An error thrown by `take` is our bug, and
        // ends the process.
        void this.#releaseAfter(making, next, take)
        return
      }
      if (!this.#hasRoomFor(next)) return
      this.#held.shift()
      take(next)
    }
    if (!this.isHolding) this.#input.resume()
  }

  async #releaseAfter(making: Promise<unknown>, message: JSONRPCMessage, take: Take): Promise<void> {
    this.#isMaking = true
    try {
      await making
    } catch {
      // The response needs the same data, and reports the failure.
    } finally {
      this.#isMaking = false
    }
    this.#made = message
    this.#release(take)
  }

  #hasRoomFor(message: JSONRPCMessage): boolean {
    if (!('id' in message && 'method' in message) || isListen(message) || this.#costs.size === 0) return true
    return this.#costs.size < MOST_REQUESTS && this.#bytes + this.#costOf(message) <= MOST_BYTES
  }
}

type Take = (message: JSONRPCMessage) => void

/** The same limit as for an HTTP client: the number of messages in a batch. */
const MOST_REQUESTS = 100
const MOST_BYTES = 64 * 2 ** 20

function isListen(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'subscriptions/listen'
}
