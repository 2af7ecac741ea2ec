/** The party that a place counts for: the principal of a token, or without one the network of the client's address. */
export type ShareHolder = string

/** The holder of a request without an address: stdio has only one client. */
export const NO_HOLDER: ShareHolder = ''

/** Returns the principal as holder, at any address; without a principal, the network of the address. */
export function holderOf(principalId: string | undefined, network: ShareHolder = NO_HOLDER): ShareHolder {
  // No address begins with this prefix.
  return principalId === undefined ? network : `as ${principalId}`
}

/**
 * The places of one limit, by holder. A single holder may have all of them. When all are taken, each further place
 * comes from the holder with the most. A holder of its fair share or less never loses a place to another.
 */
export class FairShares<Place> {
  /** The least recently held or used place comes first. */
  readonly #byHolder = new Map<ShareHolder, Set<Place>>()
  /** The holders by their number of places. Finding the largest needs no scan of the others. */
  readonly #byCount = new Map<number, Set<ShareHolder>>()
  #most = 0

  /**
   * Returns the holder that gives up a place for `holder`: the one with the most, and with at least two more than
   * `holder` has.
   */
  giverTo(holder: ShareHolder): ShareHolder | undefined {
    return this.#most > this.countOf(holder) + 1 ? this.largest : undefined
  }

  get largest(): ShareHolder | undefined {
    return this.#byCount.get(this.#most)?.values().next().value
  }

  countOf(holder: ShareHolder): number {
    return this.#byHolder.get(holder)?.size ?? 0
  }

  /** The places of a holder; the least recently held or used comes first. */
  placesOf(holder: ShareHolder): Iterable<Place> {
    return this.#byHolder.get(holder) ?? []
  }

  hold(holder: ShareHolder, place: Place): void {
    const places = this.#byHolder.get(holder) ?? new Set()
    if (places.has(place)) return
    this.#byHolder.set(holder, places.add(place))
    this.#move(holder, places.size - 1, places.size)
  }

  /** Marks a place as the most recently used of its holder. */
  use(holder: ShareHolder, place: Place): void {
    const places = this.#byHolder.get(holder)
    if (places?.delete(place) === true) places.add(place)
  }

  release(holder: ShareHolder, place: Place): void {
    const places = this.#byHolder.get(holder)
    if (places?.delete(place) !== true) return
    if (places.size === 0) this.#byHolder.delete(holder)
    this.#move(holder, places.size + 1, places.size)
  }

  #move(holder: ShareHolder, from: number, to: number): void {
    const left = this.#byCount.get(from)
    left?.delete(holder)
    if (left?.size === 0) this.#byCount.delete(from)
    if (to > 0) this.#byCount.set(to, (this.#byCount.get(to) ?? new Set()).add(holder))
    // A count changes by one: a holder that alone had the most still has the most.
    if (to > this.#most || (from === this.#most && left?.size === 0)) this.#most = to
  }
}
