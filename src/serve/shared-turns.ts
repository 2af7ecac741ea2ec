import { Shares } from './shares.ts'
import type { Holder } from './shares.ts'

/** A place among those that wait for their turn, or have it. Disposed when it is needed no more. */
export interface Place extends Disposable {
  readonly holder: Holder
  /** Resolves once the place is given to another holder. */
  readonly lost: Promise<void>
}

/**
 * Work of a bounded number of askers, one piece after another. Holders take turns: a holder with one piece waits for one of each
 * other, however many another has brought. Once all places are taken, the holder of most loses its youngest to the others.
 */
export class SharedTurns {
  readonly #most: number
  /** What each loses its place by. */
  readonly #lose = new Map<Place, () => void>()
  readonly #shares = new Shares<Place>()
  /** The holder whose turn is next, first. */
  readonly #waiting = new Map<Holder, (() => Promise<void>)[]>()
  #isBusy = false

  constructor(most: number) {
    this.#most = most
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

  /** The result of the work, once its turn has come; undefined for a place that was lost before that. */
  async next<Result>(place: Place, work: () => Promise<Result>): Promise<Result | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Result | undefined>()
    const turn = async (): Promise<void> => {
      try {
        resolve(this.#lose.has(place) ? await work() : undefined)
      } catch (error) {
        reject(error)
      }
    }
    const own = this.#waiting.get(place.holder)
    if (own === undefined) this.#waiting.set(place.holder, [turn])
    else own.push(turn)
    // It never rejects: what a piece of work fails with is its asker's.
    void this.#go()
    return promise
  }

  async #go(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    for (let turn = this.#shift(); turn !== undefined; turn = this.#shift()) await turn()
    this.#isBusy = false
  }

  #shift(): (() => Promise<void>) | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const [holder, turns] = first
    const turn = turns.shift()
    this.#waiting.delete(holder)
    if (turns.length > 0) this.#waiting.set(holder, turns)
    return turn
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
