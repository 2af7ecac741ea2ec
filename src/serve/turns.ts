/** Work that is done one piece after another. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  async next<Result>(work: () => Promise<Result>): Promise<Result> {
    const previous = this.#last
    const done = (async () => {
      await previous
      return work()
    })()
    // Who comes next waits for the end of this one, not for its success.
    this.#last = done.catch(() => {})
    return done
  }
}
