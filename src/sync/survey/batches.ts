import type { ResolvedCandidate } from './read-skill.ts'
import { BLOBS_AT_ONCE } from '../model/tree.ts'

/** Skills in their order, in lots whose files one request brings; one that has more than that is a lot by itself. */
export function lotsOf(candidates: readonly ResolvedCandidate[]): ResolvedCandidate[][] {
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

/**
 * Does all of it at once. When one fails the others are to stop, and have ended when this throws why it failed: nobody works on
 * behind the back of whoever cleans up.
 */
export async function together(
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
