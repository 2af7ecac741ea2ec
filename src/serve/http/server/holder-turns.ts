import { SerialQueue } from '../../../base/async/serial-queue.ts'
import type { ShareHolder } from '../../fair-shares.ts'

/**
 * Work that needs much memory, one piece at a time for each holder: requests of one holder wait for each other, and for
 * those of no other.
 */
export class HolderTurns {
  readonly #turns = new Map<ShareHolder, Turns>()

  async next<Result>(holder: ShareHolder, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#turns.get(holder) ?? { queue: new SerialQueue(), open: 0 }
    this.#turns.set(holder, turns)
    turns.open += 1
    try {
      return await turns.queue.next(work)
    } finally {
      turns.open -= 1
      if (turns.open === 0) this.#turns.delete(holder)
    }
  }
}

interface Turns {
  readonly queue: SerialQueue
  open: number
}
