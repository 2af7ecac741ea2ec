/** How many requests one client may send in how long a time. */
export interface Rate {
  readonly requests: number
  readonly perMs: number
}

interface Bucket {
  readonly left: number
  readonly at: number
}

/** Clients that are remembered. Whoever can come from more than so many addresses is not slowed by a limit of each. */
const MOST_CLIENTS = 50_000

/**
 * A bucket of requests for each client, which fills evenly. One that is full again is forgotten, so that those who come
 * seldom cost nothing.
 */
export class RateLimit {
  readonly #rate: Rate
  readonly #now: () => number
  /** The one used longest ago first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(rate: Rate, now: () => number) {
    this.#rate = rate
    this.#now = now
  }

  /** How many clients are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /** The most requests that a client can have left. */
  get most(): number {
    return this.#rate.requests
  }

  /** Takes requests of a client, all or none. Where so many are not left: the seconds until they are. */
  take(client: string, count = 1): number | undefined {
    const now = this.#now()
    this.#forget(now)
    const left = this.#leftOf(client, now)
    if (left < count) return Math.ceil(((count - left) * this.#rate.perMs) / this.#rate.requests / 1000)
    this.#buckets.delete(client)
    this.#buckets.set(client, { left: left - count, at: now })
    return undefined
  }

  #leftOf(client: string, now: number): number {
    const bucket = this.#buckets.get(client)
    if (bucket === undefined) return this.#rate.requests
    const gained = ((now - bucket.at) * this.#rate.requests) / this.#rate.perMs
    return Math.min(this.#rate.requests, bucket.left + gained)
  }

  #forget(now: number): void {
    for (const [client, { at }] of this.#buckets) {
      if (now - at < this.#rate.perMs && this.#buckets.size < MOST_CLIENTS) return
      this.#buckets.delete(client)
    }
  }
}
