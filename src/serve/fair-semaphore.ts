import { FairShares } from './fair-shares.ts'
import type { ShareHolder } from './fair-shares.ts'

/** A place of one client. The client disposes it when the place is no longer needed. */
export interface FairPermit extends Disposable {
  readonly holder: ShareHolder
  /** Resolves as soon as the place is given to another holder. */
  readonly lost: Promise<void>
}

/**
 * Semaphore with a bounded number of places. If all are taken, the holder with the most places loses its youngest to
 * another holder.
 */
export class FairSemaphore {
  readonly #most: number
  /** The function that takes a place from its holder, by place. */
  readonly #lose = new Map<FairPermit, () => void>()
  readonly #shares = new FairShares<FairPermit>()

  constructor(most: number) {
    this.#most = most
  }

  /** Takes a place; `undefined` if all places are taken and the holder has its fair share. */
  place(holder: ShareHolder): FairPermit | undefined {
    const giver = this.#lose.size < this.#most ? undefined : this.#shares.giverTo(holder)
    if (giver !== undefined) this.#give([...this.#shares.placesOf(giver)].at(-1))
    if (this.#lose.size >= this.#most) return undefined
    const { promise: lost, resolve } = Promise.withResolvers<void>()
    const place: FairPermit = { holder, lost, [Symbol.dispose]: () => this.#forget(place) }
    this.#lose.set(place, resolve)
    this.#shares.hold(holder, place)
    return place
  }

  #give(place: FairPermit | undefined): void {
    if (place === undefined) return
    this.#lose.get(place)?.()
    this.#forget(place)
  }

  #forget(place: FairPermit): void {
    this.#lose.delete(place)
    this.#shares.release(place.holder, place)
  }
}
