import { ignoreAbort } from '../../base/async/abort-error.ts'
import type { Clock } from '../../base/async/clock.ts'

/** Wakes a loop before its time. A ring while it works is not lost: the next wait ends at once. */
export class WakeUp {
  readonly #clock: Pick<Clock, 'wait'>
  readonly #over: AbortSignal
  #rung = new AbortController()

  constructor(clock: Pick<Clock, 'wait'>, over: AbortSignal) {
    this.#clock = clock
    this.#over = over
  }

  ring(): void {
    this.#rung.abort()
  }

  /** Resolves after a ring, after the time, or when all is over. */
  async wait(ms: number): Promise<void> {
    const until = AbortSignal.any([this.#rung.signal, this.#over])
    if (!until.aborted) await this.#clock.wait(ms, until).catch(ignoreAbort)
    this.#rung = new AbortController()
  }
}
