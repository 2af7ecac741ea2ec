import type { Steps } from '../../../../base/async/cooperative.ts'
import { FairScheduler } from '../../../fair-scheduler.ts'
import type { ShareHolder } from '../../../fair-shares.ts'

/** A search that has begun, in the thread that runs it. */
interface Begun {
  readonly id: number
  readonly index: number
  readonly holder: ShareHolder
  readonly steps: Steps<string[]>
}

/** The end of a search. `ids`: the matching skills; `undefined` if the index has changed since the search began. */
export interface SearchEnd {
  readonly id: number
  readonly ids: readonly string[] | undefined
}

/**
 * The running searches, executed step by step. The next step goes to the holder whose searches have used the least
 * time. The order is decided in this thread, because the round trip between threads takes longer than most searches.
 */
export class SearchQueue {
  readonly #spentMs: () => number
  readonly #waiting = new FairScheduler<Begun>()
  readonly #begun = new Map<number, Begun>()
  #ended: SearchEnd[] = []

  /** `spentMs`: the milliseconds of work of this thread. */
  constructor(spentMs: () => number) {
    this.#spentMs = spentMs
  }

  begin(search: Begun): void {
    this.#begun.set(search.id, search)
    this.#waiting.wait(search.holder, search)
  }

  /** Ends a search without an answer. */
  drop(id: number): void {
    const search = this.#begun.get(id)
    if (search === undefined) return
    this.#begun.delete(id)
    this.#waiting.leave(search.holder, search)
  }

  /** Ends the searches of an index that is about to change. */
  endIn(index: number): void {
    for (const { id } of [...this.#begun.values()].filter((search) => search.index === index)) {
      this.drop(id)
      this.#ended.push({ id, ids: undefined })
    }
  }

  /** Works for so long, or until no search is left. Returns the searches that have ended since the last call. */
  work(mostMs: number): readonly SearchEnd[] {
    const endMs = this.#spentMs() + mostMs
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      const beganMs = this.#spentMs()
      this.#step(next.piece)
      const nowMs = this.#spentMs()
      this.#waiting.spend(next.holder, nowMs - beganMs)
      if (nowMs >= endMs) break
    }
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  #step(search: Begun): void {
    const step = search.steps.next()
    if (step.done !== true) return this.#waiting.wait(search.holder, search, true)
    this.#begun.delete(search.id)
    this.#ended.push({ id: search.id, ids: step.value })
  }
}
