/** The party that a place counts for: the principal of a token; where there is none, the network of the client's address. */
export type Holder = string

/** The holder of what came with no address: over stdio there is one client. */
export const NO_HOLDER: Holder = ''

/** The holder that a principal is, whichever address it comes from; without one, the network of the address. */
export function holderOf(principalId: string | undefined, network: Holder = NO_HOLDER): Holder {
  // No address begins so.
  return principalId === undefined ? network : `as ${principalId}`
}

/**
 * The places of one bound, by their holders. A holder alone may have all of them; once they are full, each further place
 * comes from the holder of most, so that a holder of its fair share or less loses none to another.
 */
export class Shares<Place> {
  /** The place held or used longest ago first. */
  readonly #byHolder = new Map<Holder, Set<Place>>()
  /** The holders by how many places each has: finding the largest goes through none of the others. */
  readonly #byCount = new Map<number, Set<Holder>>()
  #most = 0

  /** The holder that gives a place up for one more of this one: the one with most, at least two more than it. */
  giverTo(holder: Holder): Holder | undefined {
    return this.#most > this.countOf(holder) + 1 ? this.largest : undefined
  }

  get largest(): Holder | undefined {
    return this.#byCount.get(this.#most)?.values().next().value
  }

  countOf(holder: Holder): number {
    return this.#byHolder.get(holder)?.size ?? 0
  }

  /** The places of a holder, the one held or used longest ago first. */
  placesOf(holder: Holder): Iterable<Place> {
    return this.#byHolder.get(holder) ?? []
  }

  hold(holder: Holder, place: Place): void {
    const places = this.#byHolder.get(holder) ?? new Set()
    if (places.has(place)) return
    this.#byHolder.set(holder, places.add(place))
    this.#move(holder, places.size - 1, places.size)
  }

  /** Makes a place the one that its holder used last. */
  use(holder: Holder, place: Place): void {
    const places = this.#byHolder.get(holder)
    if (places?.delete(place) === true) places.add(place)
  }

  release(holder: Holder, place: Place): void {
    const places = this.#byHolder.get(holder)
    if (places?.delete(place) !== true) return
    if (places.size === 0) this.#byHolder.delete(holder)
    this.#move(holder, places.size + 1, places.size)
  }

  #move(holder: Holder, from: number, to: number): void {
    const left = this.#byCount.get(from)
    left?.delete(holder)
    if (left?.size === 0) this.#byCount.delete(from)
    if (to > 0) this.#byCount.set(to, (this.#byCount.get(to) ?? new Set()).add(holder))
    // A count changes by one: a holder that was the only one with most still is.
    if (to > this.#most || (from === this.#most && left?.size === 0)) this.#most = to
  }
}
