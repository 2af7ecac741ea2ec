import type { BigIntStats } from 'node:fs'

/** The wall clock, because it is compared with file times. */
export interface RestClock {
  now(): Date
  /** Rejects with the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/**
 * Waits until files have settled before they are read: an editor may empty a file before it writes it. One instance per
 * read, which it delays by about a second at most.
 */
export class FolderRest {
  readonly #clock: RestClock
  #leftMs = LONGEST_MS

  constructor(clock: RestClock) {
    this.#clock = clock
  }

  /** Waits for one full settling time. */
  async pause(signal: AbortSignal): Promise<void> {
    this.#leftMs -= REST_MS
    await this.#clock.wait(REST_MS, signal)
  }

  /** Returns the file's stat after it was unchanged for a moment; `undefined` if that takes too long. */
  async settled(look: () => Promise<BigIntStats>, signal: AbortSignal): Promise<BigIntStats | undefined> {
    for (;;) {
      const stat = await look()
      const restMs = this.#restMsOf(stat)
      if (restMs <= 0) return stat
      if (this.#leftMs <= 0) return undefined
      const waitMs = Math.min(restMs, this.#leftMs)
      this.#leftMs -= waitMs
      await this.#clock.wait(waitMs, signal)
    }
  }

  /** Returns the remaining time to wait. A time far in the future comes from another clock, and says nothing. */
  #restMsOf({ mtimeNs, ctimeNs }: BigIntStats): number {
    const changedMs = Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n)
    const sinceMs = this.#clock.now().getTime() - changedMs
    return sinceMs < -REST_MS ? 0 : REST_MS - sinceMs
  }
}

/** Longer than an editor takes between emptying a file and writing it. */
const REST_MS = 100
const LONGEST_MS = 1_000
