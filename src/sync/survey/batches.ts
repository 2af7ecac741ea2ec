import { BLOBS_AT_ONCE } from '../model/tree.ts'
import type { ResolvedCandidate } from './read-skill.ts'

/**
 * Splits skills, in their order, into lots whose files fit one request. A skill with more files is a lot of its own.
 */
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
 * Runs all works at once. When one fails, the others are aborted. Throws the failure only after all have ended, so that
 * none still runs while the caller cleans up.
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
