import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../src/base/async/clock.ts'

/**
 * A clock that stands still until it is moved by hand. It starts in the year 2026, at noon UTC, and as a timer of Node does
 * it knows whole milliseconds only: a wait of a part of one would leave its two times apart.
 */
export class FakeClock implements Clock {
  #ms = Date.UTC(2026, 5, 15, 12)
  #monotonicMs = 0
  readonly #waits = new Set<Wait>()

  now(): Date {
    return new Date(this.#ms)
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  /** How many are waiting for time to pass. */
  get waiting(): number {
    return this.#waits.size
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (ms <= 0) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const wait = { atMs: this.#monotonicMs + Math.ceil(ms), resolve }
    const abort = () => reject(signal.reason)
    this.#waits.add(wait)
    signal.addEventListener('abort', abort)
    try {
      await promise
    } finally {
      this.#waits.delete(wait)
      signal.removeEventListener('abort', abort)
    }
  }

  /** Lets time pass: each wait ends at its own moment, in order, and what it sets off has its turn before the next one. */
  async advance(ms: number): Promise<void> {
    await settle()
    const endMs = this.#monotonicMs + ms
    for (let next = this.#firstBy(endMs); next !== undefined; next = this.#firstBy(endMs)) {
      this.#move(next.atMs - this.#monotonicMs)
      this.#end(next)
      await settle()
    }
    this.#move(endMs - this.#monotonicMs)
  }

  /** Lets the machine sleep: all that time passes at once, and what was due meanwhile ends late. */
  async suspend(ms: number): Promise<void> {
    await settle()
    this.#move(ms)
    for (const wait of this.#waits) if (wait.atMs <= this.#monotonicMs) this.#end(wait)
    await settle()
  }

  /** Sets the wall clock; no time passes. */
  setWall(now: Date): void {
    this.#ms = now.getTime()
  }

  #move(ms: number): void {
    this.#ms += ms
    this.#monotonicMs += ms
  }

  #end(wait: Wait): void {
    this.#waits.delete(wait)
    wait.resolve()
  }

  #firstBy(ms: number): Wait | undefined {
    const due = [...this.#waits].filter((wait) => wait.atMs <= ms)
    return due.toSorted((a, b) => a.atMs - b.atMs)[0]
  }
}

interface Wait {
  readonly atMs: number
  readonly resolve: () => void
}

/**
 * Lets promises that are ready run, and those that they make ready, until nothing is left that the disk has to answer: how many
 * turns that takes is the machine's affair. A disk that hangs is waited for no longer than a moment.
 */
async function settle(): Promise<void> {
  const untilMs = performance.now() + HANGING_MS
  for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
    await turn()
    if (!isOnDisk() || performance.now() > untilMs) continue
    quiet = -1
    await pause(1)
  }
}

/** Whether anything in this process waits for the file system. */
function isOnDisk(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq') || name === 'CloseReq')
}

const QUIET_TURNS = 3

const HANGING_MS = 2000
