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

/** Work in a queue that all calls before its turn share: a later call may be about what it no longer sees. */
export class SharedWork<Result> {
  readonly #queue: SerialQueue
  readonly #work: () => Promise<Result>
  /** The work whose turn has not come. */
  #coming: Promise<Result> | undefined

  constructor(work: () => Promise<Result>, queue = new SerialQueue()) {
    this.#work = work
    this.#queue = queue
  }

  async run(): Promise<Result> {
    this.#coming ??= this.#queue.next(async () => {
      this.#coming = undefined
      return this.#work()
    })
    return this.#coming
  }
}
