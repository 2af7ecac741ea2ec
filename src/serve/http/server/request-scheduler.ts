import { FairTime } from '../../fair-scheduler.ts'
import type { Holder } from '../../fair-shares.ts'

/**
 * The order in which work for clients is done on the thread of the event loop, by the time that each holder has had of it. While
 * more than one asks, one piece is given in a turn of the loop, to the holder that has had least, and what it takes until it first
 * waits is measured; the rest of a turn is charged to those whose requests came in it. A holder that asks alone waits for nothing,
 * except where its pieces fill a turn of the loop.
 */
export class RequestTurns {
  readonly #now: () => number
  readonly #spentMs: () => number
  readonly #waiting = new FairTime<() => void>()
  #last: Holder | undefined
  /** When the last piece came from another holder than the one before it. */
  #mixedMs = -Infinity
  /** When the first piece that did not wait was begun in this turn of the loop. */
  #turnedMs: number | undefined
  #isGiving = false
  #given: Holder | undefined
  /** Up to where what was spent is charged. */
  #chargedMs = 0
  /** The number of pieces of each holder that came since the last turn was given. */
  #came = new Map<Holder, number>()

  /** `now`: milliseconds that only ever go up. `spentMs`: those that this thread has worked, where they are known. */
  constructor(now: () => number, spentMs = now) {
    this.#now = now
    this.#spentMs = spentMs
  }

  /** Resolves when it is the holder's turn, or nothing is wanted any more; undefined where it is now. */
  begin(holder: Holder, signalOf: () => AbortSignal): Promise<void> | undefined {
    const nowMs = this.#now()
    if (this.#last !== undefined && this.#last !== holder) this.#mixedMs = nowMs
    this.#last = holder
    if (this.#waiting.size === 0 && !this.#isMixed(nowMs) && !this.#isFull(nowMs)) return undefined
    return this.#wait(holder, signalOf(), false)
  }

  /** The same for a piece of what was begun, that has waited for something else. */
  goOn(holder: Holder, signalOf: () => AbortSignal): Promise<void> | undefined {
    if (this.#waiting.size === 0 && !this.#isMixed(this.#now())) return undefined
    return this.#wait(holder, signalOf(), true)
  }

  #isMixed(nowMs: number): boolean {
    return nowMs - this.#mixedMs < MIXED_MS
  }

  /** A client that comes only now waits for what others have begun in this turn. */
  #isFull(nowMs: number): boolean {
    if (this.#turnedMs !== undefined) return nowMs - this.#turnedMs >= FULL_MS
    this.#turnedMs = nowMs
    setImmediate(() => (this.#turnedMs = undefined))
    return false
  }

  #wait(holder: Holder, signal: AbortSignal, isBegun: boolean): Promise<void> | undefined {
    if (signal.aborted) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    const piece = (): void => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      this.#waiting.leave(holder, piece)
      resolve()
    }
    signal.addEventListener('abort', leave, { once: true })
    this.#waiting.wait(holder, piece, isBegun)
    if (!this.#isGiving) this.#chargedMs = this.#spentMs()
    this.#came.set(holder, (this.#came.get(holder) ?? 0) + 1)
    this.#giveSoon()
    return promise
  }

  /** Callbacks of one phase, between which Node runs all that a piece does until it waits, and nothing else. */
  #giveSoon(): void {
    if (this.#isGiving) return
    this.#isGiving = true
    const most = this.#isMixed(this.#now()) ? 1 : ALONE_AT_ONCE
    for (let count = 0; count < most; count += 1) setImmediate(() => this.#give())
    setImmediate(() => {
      this.#charge()
      this.#isGiving = false
      if (this.#waiting.size > 0) this.#giveSoon()
    })
  }

  #give(): void {
    this.#charge()
    const next = this.#waiting.next()
    if (next === undefined) return
    this.#given = next.holder
    next.piece()
  }

  /** Charges what was spent since the last time: for the piece that was given, else for all that came. */
  #charge(): void {
    const spentMs = this.#spentMs()
    const ms = spentMs - this.#chargedMs
    this.#chargedMs = spentMs
    if (this.#given !== undefined) {
      this.#waiting.spend(this.#given, ms)
      this.#given = undefined
      return
    }
    const count = [...this.#came.values()].reduce((sum, one) => sum + one, 0)
    for (const [holder, came] of this.#came) this.#waiting.spend(holder, (ms * came) / count)
    this.#came.clear()
  }
}

/** So long after two holders have asked in turns, their work is ordered. */
const MIXED_MS = 1_000

/** So long the pieces of one holder are begun as they come, in one turn of the loop. */
const FULL_MS = 8

/** Above that, so many of them are begun in a turn. */
const ALONE_AT_ONCE = 4
