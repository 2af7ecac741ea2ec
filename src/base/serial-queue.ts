/** Work that is done one piece after another. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** What nobody waits for any more when its turn comes is not begun. */
  async next<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const previous = this.#last
    const done = (async () => {
      await previous
      signal?.throwIfAborted()
      return work()
    })()
    // Who comes next waits for the end of this one, not for its success.
    this.#last = done.catch(() => {})
    return done
  }
}
