import type { ShareHolder } from './fair-shares.ts'

/**
 * Queue of work that is ordered by the time each holder has consumed (start-time fair queueing). The next piece belongs
 * to the holder that has consumed least since it began to wait. A holder below its fair share waits only for the piece
 * under way. The number and length of other holders' pieces do not matter. A returning holder starts at the level of
 * the others, so that idle time earns no credit. A holder that has just consumed much still comes after the others.
 */
export class FairScheduler<Piece> {
  /** The least recently served holder comes first. */
  readonly #waiting = new Map<ShareHolder, Queue<Piece>>()
  /**
   * Milliseconds of virtual time up to which each holder has been served. It omits holders behind the clock, which
   * start at the clock.
   */
  readonly #servedTo = new Map<ShareHolder, number>()
  #clock = 0
  #last: ShareHolder | undefined
  #size = 0
  #forgetAt = LEAST_HOLDERS

  /** Number of waiting pieces. */
  get size(): number {
    return this.#size
  }

  /** Number of holders with a record. */
  get holders(): number {
    return this.#servedTo.size
  }

  /**
   * Adds a piece after the holder's other pieces. `isBegun`: the piece continues work already begun, and precedes new
   * work.
   */
  wait(holder: ShareHolder, piece: Piece, isBegun = false): void {
    const { begun, coming } = this.#waiting.get(holder) ?? this.#enter(holder)
    const those = isBegun ? begun : coming
    those.add(piece)
    this.#size += 1
  }

  /** Removes a piece that is no longer needed. Returns false if the piece is not waiting. */
  leave(holder: ShareHolder, piece: Piece): boolean {
    const queue = this.#waiting.get(holder)
    if (queue?.begun.delete(piece) !== true && queue?.coming.delete(piece) !== true) return false
    this.#size -= 1
    if (queue.begun.size + queue.coming.size === 0) this.#waiting.delete(holder)
    return true
  }

  /** Takes the next piece. The caller charges its holder with `spend`. */
  next(): { readonly holder: ShareHolder; readonly piece: Piece } | undefined {
    let [holder, least]: [ShareHolder | undefined, number] = [undefined, Infinity]
    for (const one of this.#waiting.keys()) {
      const servedTo = this.#servedToOf(one)
      // On equal consumption, the holder served just before comes last.
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
   * Charges a holder. The clock advances as if all waiting holders shared the time equally, but never past the holder
   * that has consumed most. New holders that keep arriving therefore cannot starve a waiting holder.
   */
  spend(holder: ShareHolder, ms: number): void {
    const servedTo = this.#servedToOf(holder) + ms
    this.#servedTo.delete(holder)
    this.#servedTo.set(holder, servedTo)
    const sharing = this.#waiting.size + (this.#waiting.has(holder) ? 0 : 1)
    let most = this.#waiting.size === 0 ? Infinity : this.#clock
    for (const one of this.#waiting.keys()) most = Math.max(most, this.#servedToOf(one))
    this.#clock = Math.min(this.#clock + ms / sharing, most)
    this.#forget()
  }

  #enter(holder: ShareHolder): Queue<Piece> {
    const queue: Queue<Piece> = { begun: new Set(), coming: new Set() }
    this.#waiting.set(holder, queue)
    this.#servedTo.set(holder, Math.max(this.#servedToOf(holder), this.#clock))
    return queue
  }

  /** Forgets holders that would start at the clock. If too many remain, it forgets the least recently served. */
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

  #servedToOf(holder: ShareHolder): number {
    return this.#servedTo.get(holder) ?? this.#clock
  }
}

interface Queue<Piece> {
  readonly begun: Set<Piece>
  readonly coming: Set<Piece>
}

/** The number of records below which no holder is forgotten. */
const LEAST_HOLDERS = 64

/** Limit on records of holders without waiting work. */
const MOST_HOLDERS = 1_024
