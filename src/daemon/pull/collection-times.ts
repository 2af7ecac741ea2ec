import type { Clock } from '../../base/clock.ts'

/**
 * Decides after which pulls garbage is collected. A collection reads all that is kept, so in a burst of pulls it runs
 * after the last one, and before that for a small share of the time.
 */
export class CollectionTimes {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #isNeeded = false
  /** On the monotonic clock: the earliest start of the next collection within a burst. */
  #nextMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Records that a publication may have left garbage. */
  published(): void {
    this.#isNeeded = true
  }

  /** True if a collection is to run now. `isLast`: no other pull runs or waits. */
  isDue(isLast: boolean): boolean {
    return this.#isNeeded && (isLast || this.#clock.monotonicMs() >= this.#nextMs)
  }

  /** Runs a collection and takes its duration into account. */
  async run(collection: () => Promise<void>): Promise<void> {
    this.#isNeeded = false
    const startMs = this.#clock.monotonicMs()
    // The others of the burst do not collect beside it.
    this.#nextMs = Infinity
    try {
      await collection()
    } finally {
      const endMs = this.#clock.monotonicMs()
      this.#nextMs = endMs + REST * (endMs - startMs)
    }
  }
}

/** A collection takes at most a tenth of the time of a burst. */
const REST = 9
