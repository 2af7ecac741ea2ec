import { whileWanted } from '../../base/abortable.ts'

/** What is asked of somebody, and the moments in which somebody else takes over: who asks meanwhile waits, and asks the next. */
export class Changeover {
  readonly #asked = new Set<Promise<unknown>>()
  #last: Promise<void> = Promise.resolve()
  #isChanging = false
  #isOver = false
  #ending = new AbortController()

  /** Does what is asked, unless somebody is taking over: then after that. The signal that it gets is raised too when somebody is about to. */
  async ask<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    while (this.#isChanging) await whileWanted(this.#last, signal)
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

  /** `stop` has what is being asked come to its end; `next` takes over when it has. Two changes go one after the other. */
  async change<Result>(stop: () => Promise<void>, next: () => Promise<Result>): Promise<Result> {
    if (this.#isOver) throw OVER
    const changed = this.#last.then(async () => this.#change(stop, next))
    // Who comes after waits for the end of this one, not for its success.
    this.#last = changed.then(nothing, nothing)
    return changed
  }

  /** The last change: nobody takes over, and who asks from here on is told so. */
  async end(stop: () => Promise<void>): Promise<void> {
    const ended = this.change(stop, async () => {})
    this.#isOver = true
    await ended
  }

  async #change<Result>(stop: () => Promise<void>, next: () => Promise<Result>): Promise<Result> {
    this.#isChanging = true
    try {
      this.#ending.abort(new DOMException('The daemon took another configuration, or ended; ask again', 'AbortError'))
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
