import { FairTime } from './fair-time.ts'
import { Shares } from './shares.ts'
import type { Holder } from './shares.ts'

/** A place among those that wait for their turn, or have it. Disposed when it is needed no more. */
export interface Place extends Disposable {
  readonly holder: Holder
  /** Resolves once the place is given to another holder. */
  readonly lost: Promise<void>
}

/**
 * Work of a bounded number of askers, one piece after another, the next of the holder that has taken least time: a holder below its
 * share waits for the piece under way, however many another has brought. Once all places are taken, the holder of most loses its
 * youngest to the others.
 */
export class SharedTurns {
  readonly #most: number
  /** What each loses its place by. */
  readonly #lose = new Map<Place, () => void>()
  readonly #shares = new Shares<Place>()
  readonly #waiting = new FairTime<() => Promise<void>>()
  readonly #now: () => number
  #isBusy = false

  /** `now`: milliseconds that only ever go up, by which pieces are measured. */
  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  /** Undefined where all places are taken, and the holder has its share of them. */
  place(holder: Holder): Place | undefined {
    const giver = this.#lose.size < this.#most ? undefined : this.#shares.giverTo(holder)
    if (giver !== undefined) this.#give([...this.#shares.placesOf(giver)].at(-1))
    if (this.#lose.size >= this.#most) return undefined
    const { promise: lost, resolve } = Promise.withResolvers<void>()
    const place: Place = { holder, lost, [Symbol.dispose]: () => this.#forget(place) }
    this.#lose.set(place, resolve)
    this.#shares.hold(holder, place)
    return place
  }

  /**
   * The result of the work, once its turn has come; undefined for a place that was lost before that. Work that takes long comes in
   * pieces, one after another: others have their turn in between.
   */
  async next<Result>(place: Place, work: () => Promise<Result>): Promise<Result | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Result | undefined>()
    const turn = async (): Promise<void> => {
      try {
        resolve(this.#lose.has(place) ? await work() : undefined)
      } catch (error) {
        reject(error)
      }
    }
    const leave = (): void => {
      if (this.#waiting.leave(place.holder, turn)) resolve(undefined)
    }
    this.#waiting.wait(place.holder, turn)
    void place.lost.then(leave)
    // It never rejects: what a piece of work fails with is its asker's.
    void this.#go()
    return promise
  }

  async #go(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      const beganMs = this.#now()
      await next.piece()
      this.#waiting.spend(next.holder, this.#now() - beganMs)
    }
    this.#isBusy = false
  }

  #give(place: Place | undefined): void {
    if (place === undefined) return
    this.#lose.get(place)?.()
    this.#forget(place)
  }

  #forget(place: Place): void {
    this.#lose.delete(place)
    this.#shares.release(place.holder, place)
  }
}
