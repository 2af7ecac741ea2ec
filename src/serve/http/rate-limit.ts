/** The number of requests that one client may send in a period. */
export interface Rate {
  readonly requests: number
  readonly perMs: number
}

interface Bucket {
  readonly left: number
  readonly at: number
}

/** Maximum number of stored clients. A per-address limit does not slow a client with more addresses than this. */
const MOST_CLIENTS = 50_000

/**
 * Token bucket for each client, which refills evenly. A full bucket is forgotten, so that infrequent clients cost no
 * memory.
 */
export class RateLimit {
  readonly #rate: Rate
  readonly #now: () => number
  /** The least recently used client comes first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(rate: Rate, now: () => number) {
    this.#rate = rate
    this.#now = now
  }

  /** The number of stored clients. */
  get size(): number {
    return this.#buckets.size
  }

  /** The capacity of a bucket in requests. */
  get most(): number {
    return this.#rate.requests
  }

  /**
   * Takes `count` requests from the client's bucket, all or none. If too few are left, returns the seconds until there
   * are enough.
   */
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
