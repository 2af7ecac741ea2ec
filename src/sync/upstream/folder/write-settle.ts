import type { BigIntStats } from 'node:fs'

/** Wall clock: compared with the times of files. */
export interface RestClock {
  now(): Date
  /** Rejects with the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** Lets files come to rest before they are read: whoever saves one may empty it first. One for a look, which it makes a second longer at most. */
export class FolderRest {
  readonly #clock: RestClock
  #leftMs = LONGEST_MS

  constructor(clock: RestClock) {
    this.#clock = clock
  }

  /** As long as it takes to be sure. */
  async pause(signal: AbortSignal): Promise<void> {
    this.#leftMs -= REST_MS
    await this.#clock.wait(REST_MS, signal)
  }

  /** How a file is once it was left alone for a moment; undefined where that takes too long. */
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

  /** A time that is further ahead is that of another clock, and tells nothing. */
  #restMsOf({ mtimeNs, ctimeNs }: BigIntStats): number {
    const changedMs = Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n)
    const sinceMs = this.#clock.now().getTime() - changedMs
    return sinceMs < -REST_MS ? 0 : REST_MS - sinceMs
  }
}

/** More than editors take from emptying a file to filling it. */
const REST_MS = 100
const LONGEST_MS = 1_000
