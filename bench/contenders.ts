import { figureOf } from './figure.ts'
import type { Figure, Times, Unit } from './figure.ts'

/** A peer that needs more for one thing is left out. */
export const LIMIT_MS = 120_000

/** A row of the table: what is ours, and what it is measured by. */
export interface Row {
  readonly ours: string
  readonly peer: string
  /** What the peer's time is called in a round. */
  readonly theirs: string
  readonly target?: number
  readonly unit?: Unit
}

/** The peers of one comparison. One that fails is told in a line, and left out from there on; ours may not fail. */
export class Contenders {
  readonly #at: string
  readonly #out = new Set<string>()

  /** `at`: what they are compared at, for the line. */
  constructor(at: string) {
    this.#at = at
  }

  /** A run of a peer, for `rounds`; it brings nothing once the peer has failed. */
  run(peer: string, work: () => Promise<Times>): () => Promise<Times> {
    return async () => (await this.attempt(peer, work)) ?? {}
  }

  /** Undefined where the peer fails, or has failed before. */
  async attempt<Result>(peer: string, work: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#out.has(peer)) return undefined
    try {
      return await work()
    } catch (error) {
      this.#out.add(peer)
      const why = error instanceof Error ? error.message : String(error)
      console.log(`peers: ${peer} is left out at ${this.#at}: ${why}`)
      return undefined
    }
  }

  /** The rows of those that have never failed. */
  figures(all: readonly Times[], rows: readonly Row[]): Figure[] {
    return rows
      .filter(({ peer }) => !this.#out.has(peer))
      .map(({ ours, theirs, target, unit }) => figureOf('peers', all, [ours, theirs], target, unit))
  }
}
