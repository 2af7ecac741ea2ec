import type { Clock } from '../../base/async/clock.ts'

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

  /** Begins a pull, or another use of the store, whose writes may become garbage. It is disposed when it has ended. */
  begin(): StoreUse {
    let hasStored = false
    const stored = (): void => {
      hasStored = true
      this.#isNeeded = true
    }
    // A collection meanwhile leaves what is in use.
    return { stored, [Symbol.dispose]: () => void (this.#isNeeded ||= hasStored) }
  }

  /** True if a collection is to run now. `isLast`: no other pull runs or waits. */
  isDue(isLast: boolean): boolean {
    return this.#isNeeded && (isLast || this.#clock.monotonicMs() >= this.#nextMs)
  }

  /** Runs a collection and takes its duration into account. One that fails is needed again. */
  async run(collection: () => Promise<void>): Promise<void> {
    this.#isNeeded = false
    const startMs = this.#clock.monotonicMs()
    // The others of the burst do not collect beside it.
    this.#nextMs = Infinity
    try {
      await collection()
    } catch (error) {
      this.#isNeeded = true
      throw error
    } finally {
      const endMs = this.#clock.monotonicMs()
      this.#nextMs = endMs + REST * (endMs - startMs)
    }
  }
}

/** A use of the store from its begin to its end. */
export interface StoreUse extends Disposable {
  /** Records that something is about to be stored, which nothing may name later. */
  stored(): void
}

/** A collection takes at most a tenth of the time of a burst. */
const REST = 9
