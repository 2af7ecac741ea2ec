import { abortable } from '../../base/async/abortable.ts'
import { BLOBS_AT_ONCE } from '../model/tree.ts'
import type { ResolvedCandidate } from './read-skill.ts'

/**
 * Splits skills, in their order, into lots whose files fit one request. A skill with more files is a lot of its own.
 */
export function batchesOf(candidates: readonly ResolvedCandidate[]): ResolvedCandidate[][] {
  const lots: ResolvedCandidate[][] = []
  let files = Infinity
  for (const candidate of candidates) {
    files += candidate.files.length
    if (files > BLOBS_AT_ONCE) {
      lots.push([])
      files = candidate.files.length
    }
    lots.at(-1)?.push(candidate)
  }
  return lots
}

/** Lets a reader wait until what it needs has arrived, or until nothing more arrives. */
export class BatchResults {
  #next = Promise.withResolvers<void>()
  #isOver = false

  /** Makes the readers check again. */
  notify(): void {
    this.#next.resolve()
    this.#next = Promise.withResolvers()
  }

  /** Makes the readers go on without what has not arrived. */
  end(): void {
    this.#isOver = true
    this.notify()
  }

  /** Resolves when `isThere` is true, or after `end`. Rejects with the reason of the signal. */
  async until(isThere: () => boolean, signal: AbortSignal): Promise<void> {
    while (!isThere() && !this.#isOver) {
      signal.throwIfAborted()
      await abortable(this.#next.promise, signal)
    }
  }
}

/**
 * Runs all works at once. When one fails, the others are aborted. Throws the failure only after all have ended, so that
 * none still runs while the caller cleans up.
 */
export async function runAll(
  works: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController()
  const within = AbortSignal.any([signal, failed.signal])
  const run = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    try {
      await work(within)
    } catch (error) {
      failed.abort(error)
    }
  }
  await Promise.all(works.map(run))
  failed.signal.throwIfAborted()
}
