import { FairScheduler } from '../../fair-scheduler.ts'
import type { ShareHolder } from '../../fair-shares.ts'

/**
 * Orders the work for clients on the event loop by the time that each holder has used. While several holders have
 * requests, each turn of the loop runs one piece, of the holder that has used the least. The time until the piece first
 * waits is measured. The rest of a turn is charged to the holders whose requests arrived in it. A holder alone never
 * waits, unless its pieces fill a turn of the loop.
 */
export class RequestScheduler {
  readonly #now: () => number
  readonly #spentMs: () => number
  readonly #waiting = new FairScheduler<() => void>()
  #last: ShareHolder | undefined
  /** The time when a piece last came from another holder than the previous one. */
  #mixedMs = -Infinity
  /** The start of the first piece in this turn of the loop that did not wait. */
  #turnedMs: number | undefined
  #isGiving = false
  #given: ShareHolder | undefined
  /** The point up to which the used time is charged. */
  #chargedMs = 0
  /** The number of pieces per holder that arrived since the last charge. */
  #came = new Map<ShareHolder, number>()

  /** `now`: a monotonic clock in milliseconds. `spentMs`: the work time of this thread, if it is known. */
  constructor(now: () => number, spentMs = now) {
    this.#now = now
    this.#spentMs = spentMs
  }

  /** Resolves at the holder's turn, or when the signal aborts; `undefined` if the piece need not wait. */
  begin(holder: ShareHolder, signalOf: () => AbortSignal): Promise<void> | undefined {
    const nowMs = this.#now()
    if (this.#last !== undefined && this.#last !== holder) this.#mixedMs = nowMs
    this.#last = holder
    if (this.#waiting.size === 0 && !this.#isMixed(nowMs) && !this.#isFull(nowMs)) return undefined
    return this.#wait(holder, signalOf(), false)
  }

  /** Works like `begin`, for a piece that continues begun work after a wait for something else. */
  goOn(holder: ShareHolder, signalOf: () => AbortSignal): Promise<void> | undefined {
    if (this.#waiting.size === 0 && !this.#isMixed(this.#now())) return undefined
    return this.#wait(holder, signalOf(), true)
  }

  #isMixed(nowMs: number): boolean {
    return nowMs - this.#mixedMs < MIXED_MS
  }

  /** A client that arrives only now would wait for all the work begun in this turn. */
  #isFull(nowMs: number): boolean {
    if (this.#turnedMs !== undefined) return nowMs - this.#turnedMs >= FULL_MS
    this.#turnedMs = nowMs
    setImmediate(() => (this.#turnedMs = undefined))
    return false
  }

  #wait(holder: ShareHolder, signal: AbortSignal, isBegun: boolean): Promise<void> | undefined {
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

  /**
   * Immediate callbacks of one phase. Between two of them, Node runs all that a piece does until it waits, and nothing
   * else.
   */
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

  /**
   * Charges the time since the last charge: to the holder of the piece that ran, else to all holders with new pieces.
   */
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

/** Time for which work stays ordered after requests of different holders have alternated. */
const MIXED_MS = 1_000

/** Time in one turn of the loop for which the pieces of a single holder start without a wait. */
const FULL_MS = 8

/** Number of pieces of a single holder that start in each turn after that. */
const ALONE_AT_ONCE = 4
