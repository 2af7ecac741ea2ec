/**
 * What was asked for or kept lately. A pull may be about to publish it although no generation names it yet, so collection
 * leaves it alone.
 */
export class Claims {
  /** By digest, the time of the claim in milliseconds; oldest first. */
  readonly #claimed = new Map<string, number>()
  readonly #leaving = new Map<string, Promise<unknown>>()
  readonly #monotonicMs: () => number

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** From now on it stays for an hour. A removal that is under way is waited for, so that what is seen then is the truth. */
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

  /** Removes what nobody has claimed lately. Undefined where somebody has. */
  async remove<Removed>(digest: string, remove: () => Promise<Removed>): Promise<Removed | undefined> {
    const at = this.#claimed.get(digest)
    if (at !== undefined && this.#monotonicMs() - at < CLAIM_MS) return undefined
    const removal = remove()
    // Whoever waits wants to know when, not how; the remover is told below.
    const ended = Promise.allSettled([removal])
    this.#leaving.set(digest, ended)
    try {
      return await removal
    } finally {
      this.#leaving.delete(digest)
    }
  }
}

/** Longer than any pull takes, from its first question to the store until its generation. */
export const CLAIM_MS = 3_600_000
