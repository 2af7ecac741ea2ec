/** A queue that runs one piece of work at a time. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Does not begin work whose signal is aborted when its turn comes. */
  async next<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const previous = this.#last
    const done = (async () => {
      await previous
      signal?.throwIfAborted()
      return work()
    })()
    // The next work waits for the end of this one, not for its success.
    this.#last = done.catch(() => {})
    return done
  }

  /** Resolves as soon as all work that was queued before this call has ended, successful or not. */
  async idle(): Promise<void> {
    await this.#last
  }
}
