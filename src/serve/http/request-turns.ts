import type { Holder } from '../shares.ts'

/**
 * The order in which work for clients is begun. While more than one holder asks, each begins one piece in a turn of the event
 * loop, however many connections it asks on; the rest of its own waits for the next. A holder that asks alone waits for nothing.
 */
export class RequestTurns {
  readonly #now: () => number
  /** The holder that waits for longest first. */
  readonly #waiting = new Map<Holder, (() => void)[]>()
  readonly #begun = new Set<Holder>()
  #last: Holder | undefined
  /** When the last piece came from another holder than the one before it. */
  #mixedMs = -Infinity
  #isTurning = false

  /** `now`: milliseconds that only ever go up. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Resolves when it is the holder's turn; undefined where it is now. */
  begin(holder: Holder): Promise<void> | undefined {
    if (!this.#isMixed(holder)) return undefined
    this.#turnSoon()
    if (!this.#begun.has(holder)) {
      this.#begun.add(holder)
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(holder)
    if (waiting === undefined) this.#waiting.set(holder, [resolve])
    else waiting.push(resolve)
    return promise
  }

  #isMixed(holder: Holder): boolean {
    const now = this.#now()
    if (this.#last !== undefined && this.#last !== holder) this.#mixedMs = now
    this.#last = holder
    return this.#waiting.size > 0 || now - this.#mixedMs < MIXED_MS
  }

  #turnSoon(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#isTurning = false
    this.#begun.clear()
    for (const [holder, waiting] of this.#waiting) {
      waiting.shift()?.()
      this.#begun.add(holder)
      if (waiting.length === 0) this.#waiting.delete(holder)
    }
    if (this.#begun.size > 0) this.#turnSoon()
  }
}

/** So long after two holders have asked in turns, their work is ordered. */
const MIXED_MS = 1_000
