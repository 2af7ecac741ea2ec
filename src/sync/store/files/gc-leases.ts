/**
 * Leases on recently requested or written content. A pull may be about to publish it although no generation names it
 * yet, so garbage collection leaves it alone.
 */
export class GcLeases {
  /** The time of the claim in milliseconds by digest; oldest first. */
  readonly #claimed = new Map<string, number>()
  readonly #leaving = new Map<string, Promise<unknown>>()
  readonly #monotonicMs: () => number

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Protects the content for an hour. Waits for a removal that is under way, so that a later check sees the result. */
  async claim(digest: string): Promise<void> {
    const now = this.#monotonicMs()
    this.#claimed.delete(digest)
    this.#claimed.set(digest, now)
    for (const [oldest, at] of this.#claimed) {
      if (now - at < CLAIM_MS) break
      this.#claimed.delete(oldest)
    }
    await this.#leaving.get(digest)
  }

  /** Removes content without a recent claim. `undefined` if there is a claim. */
  async remove<Removed>(digest: string, remove: () => Promise<Removed>): Promise<Removed | undefined> {
    const at = this.#claimed.get(digest)
    if (at !== undefined && this.#monotonicMs() - at < CLAIM_MS) return undefined
    const removal = remove()
    // A waiting claim only needs the end of the removal; the failure goes to the caller below.
    const ended = Promise.allSettled([removal])
    this.#leaving.set(digest, ended)
    try {
      return await removal
    } finally {
      this.#leaving.delete(digest)
    }
  }
}

/** Longer than any pull takes, from its first store query to its generation. */
export const CLAIM_MS = 3_600_000
