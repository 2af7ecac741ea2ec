import { abortable } from '../base/async/abortable.ts'

/**
 * Coordinates requests to a daemon with its replacement. A request that arrives during the replacement waits, and goes
 * to the next daemon.
 */
export class ReloadLock {
  readonly #asked = new Set<Promise<unknown>>()
  #last: Promise<void> = Promise.resolve()
  #isChanging = false
  #isOver = false
  #ending = new AbortController()

  /**
   * Runs a request, after a running replacement if there is one. Its signal is also aborted when a replacement begins.
   */
  async ask<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    while (this.#isChanging) await abortable(this.#last, signal)
    if (this.#isOver) throw OVER
    signal.throwIfAborted()
    const asked = work(AbortSignal.any([signal, this.#ending.signal]))
    this.#asked.add(asked)
    try {
      return await asked
    } finally {
      this.#asked.delete(asked)
    }
  }

  /** `stop` ends the running requests; then `next` takes over. Two changes run one after the other. */
  async change<Result>(stop: () => Promise<void>, next: () => Promise<Result>): Promise<Result> {
    if (this.#isOver) throw OVER
    const changed = this.#last.then(async () => this.#change(stop, next))
    // Later changes wait for the end of this one, not for its success.
    this.#last = changed.then(nothing, nothing)
    return changed
  }

  /** The last change: no daemon takes over, and later requests are rejected. */
  async end(stop: () => Promise<void>): Promise<void> {
    const ended = this.change(stop, async () => {})
    this.#isOver = true
    await ended
  }

  async #change<Result>(stop: () => Promise<void>, next: () => Promise<Result>): Promise<Result> {
    this.#isChanging = true
    try {
      this.#ending.abort(
        new DOMException('The daemon applied another configuration, or ended; try again', 'AbortError'),
      )
      await stop()
      await Promise.allSettled(this.#asked)
      return await next()
    } finally {
      this.#ending = new AbortController()
      this.#isChanging = false
    }
  }
}

const OVER = new DOMException('The daemon ends', 'AbortError')

function nothing(): void {}
