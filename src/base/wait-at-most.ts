import { ignoreAbort } from './abort-error.ts'
import type { Clock } from './clock.ts'

/**
 * Resolves when the work is done, or after so long: it goes on then. Says how much of the time is left. The work may reject
 * only in a way that is to end the process.
 */
export async function waitAtMost(ms: number, work: Promise<unknown>, clock: Clock): Promise<number> {
  const startMs = clock.monotonicMs()
  const done = new AbortController()
  const waited = clock.wait(ms, done.signal).catch(ignoreAbort)
  // Not one promise with the wait: a failure has to be noticed also when nobody waits any more.
  void work.then(() => done.abort())
  await waited
  return Math.max(0, startMs + ms - clock.monotonicMs())
}
