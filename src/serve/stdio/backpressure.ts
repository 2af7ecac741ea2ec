import type { Readable } from 'node:stream'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'

/**
 * What one client over stdio may have on its way at once. What it asks beyond that waits, in its order, and nothing more is read
 * of its input: a client that asks and does not read costs no more than this. A message also waits while that is made which its
 * cost is read off.
 */
export class StdioInflow {
  readonly #input: Pick<Readable, 'pause' | 'resume'>
  readonly #costOf: (message: JSONRPCMessage) => number
  readonly #makingFor: (message: JSONRPCMessage) => Promise<unknown> | undefined
  readonly #costs = new Map<RequestId, number>()
  readonly #held: JSONRPCMessage[] = []
  #bytes = 0
  #isMaking = false
  /** The one of those that wait for which that is made. */
  #made: JSONRPCMessage | undefined

  /** `costOf`: about how many bytes its answer will have. `makingFor`: makes what that is read off. */
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

  /** Keeps the message where it has to wait, and hands it over when it need not. Says whether it waits. */
  hold(message: JSONRPCMessage, take: Take): boolean {
    const making = this.isHolding ? undefined : this.#makingFor(message)
    if (!this.isHolding && making === undefined && this.#hasRoomFor(message)) return false
    this.#held.push(message)
    this.#input.pause()
    if (making !== undefined) void this.#releaseAfter(making, message, take)
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
  end(id: RequestId, take: Take): void {
    this.#bytes -= this.#costs.get(id) ?? 0
    this.#costs.delete(id)
    this.#release(take)
  }

  /** The connection is closed: what waits is dropped. */
  clear(): void {
    this.#held.length = 0
  }

  #release(take: Take): void {
    for (let next = this.#held[0]; next !== undefined && !this.#isMaking; next = this.#held[0]) {
      const making = next === this.#made ? undefined : this.#makingFor(next)
      if (making !== undefined) {
        // Its failure is that of the message; a fault in taking messages is one of ours, and ends the process.
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
      // The answer to the message is made of the same, and tells of the failure.
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

/** As for a client over HTTP, whose batches have at most so many. */
const MOST_REQUESTS = 100
const MOST_BYTES = 64 * 2 ** 20

function isListen(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'subscriptions/listen'
}
