import type { Holder } from './fair-shares.ts'

/**
 * Pieces of work that wait, ordered by the time that their holders have consumed. The next piece is one of the holder that has
 * consumed least since it began to wait (start-time fair queueing): a holder below its fair share waits for the piece under way,
 * however many another has brought and however long each takes. A holder that comes back begins where the others are, so that
 * idling saves nothing up; one that has just consumed much comes after the others still.
 */
export class FairTime<Piece> {
  /** The holder that was served longest ago first. */
  readonly #waiting = new Map<Holder, Queue<Piece>>()
  /** Milliseconds of virtual time up to which each holder has been served. Without those behind the clock, which begin at it. */
  readonly #servedTo = new Map<Holder, number>()
  #clock = 0
  #last: Holder | undefined
  #size = 0
  #forgetAt = LEAST_HOLDERS

  /** Pieces that wait. */
  get size(): number {
    return this.#size
  }

  /** Holders of which something is held. */
  get holders(): number {
    return this.#servedTo.size
  }

  /** Adds a piece after its holder's others. `isBegun`: it goes on with what was begun, and comes before those that do not. */
  wait(holder: Holder, piece: Piece, isBegun = false): void {
    const { begun, coming } = this.#waiting.get(holder) ?? this.#enter(holder)
    const those = isBegun ? begun : coming
    those.add(piece)
    this.#size += 1
  }

  /** Takes a piece away that is not wanted any more. False for one that does not wait. */
  leave(holder: Holder, piece: Piece): boolean {
    const queue = this.#waiting.get(holder)
    if (queue?.begun.delete(piece) !== true && queue?.coming.delete(piece) !== true) return false
    this.#size -= 1
    if (queue.begun.size + queue.coming.size === 0) this.#waiting.delete(holder)
    return true
  }

  /** Takes the next piece. Its holder is charged with `spend` for it. */
  next(): { readonly holder: Holder; readonly piece: Piece } | undefined {
    let [holder, least]: [Holder | undefined, number] = [undefined, Infinity]
    for (const one of this.#waiting.keys()) {
      const servedTo = this.#servedToOf(one)
      // Of those that have consumed the same the one that was just served is the last.
      if (servedTo < least || (servedTo === least && holder === this.#last)) [holder, least] = [one, servedTo]
    }
    const queue = holder === undefined ? undefined : this.#waiting.get(holder)
    if (holder === undefined || queue === undefined) return undefined
    const [piece] = queue.begun.size > 0 ? queue.begun : queue.coming
    if (piece === undefined) return undefined
    this.#last = holder
    this.#waiting.delete(holder)
    this.#waiting.set(holder, queue)
    this.leave(holder, piece)
    return { holder, piece }
  }

  /**
   * Charges a holder. The clock goes on as if all that wait had consumed it together, and never past the one that has consumed
   * most: holders that come anew all the time do not keep one that waits from its turn.
   */
  spend(holder: Holder, ms: number): void {
    const servedTo = this.#servedToOf(holder) + ms
    this.#servedTo.delete(holder)
    this.#servedTo.set(holder, servedTo)
    const sharing = this.#waiting.size + (this.#waiting.has(holder) ? 0 : 1)
    let most = this.#waiting.size === 0 ? Infinity : this.#clock
    for (const one of this.#waiting.keys()) most = Math.max(most, this.#servedToOf(one))
    this.#clock = Math.min(this.#clock + ms / sharing, most)
    this.#forget()
  }

  #enter(holder: Holder): Queue<Piece> {
    const queue: Queue<Piece> = { begun: new Set(), coming: new Set() }
    this.#waiting.set(holder, queue)
    this.#servedTo.set(holder, Math.max(this.#servedToOf(holder), this.#clock))
    return queue
  }

  /** Forgets holders that would begin at the clock; where that leaves too many, those that were served longest ago. */
  #forget(): void {
    if (this.#servedTo.size < this.#forgetAt) return
    for (const [holder, servedTo] of this.#servedTo) {
      if (!this.#waiting.has(holder) && servedTo <= this.#clock) this.#servedTo.delete(holder)
    }
    for (const holder of this.#servedTo.keys()) {
      if (this.#servedTo.size < MOST_HOLDERS) break
      if (!this.#waiting.has(holder)) this.#servedTo.delete(holder)
    }
    this.#forgetAt = Math.max(LEAST_HOLDERS, 2 * this.#servedTo.size)
  }

  #servedToOf(holder: Holder): number {
    return this.#servedTo.get(holder) ?? this.#clock
  }
}

interface Queue<Piece> {
  readonly begun: Set<Piece>
  readonly coming: Set<Piece>
}

/** Fewer are looked through for none that is to be forgotten. */
const LEAST_HOLDERS = 64

/** Besides those that wait. */
const MOST_HOLDERS = 1_024
