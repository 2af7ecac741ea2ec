import { ignoreAbort } from './abort-error.ts'
import type { Clock } from './clock.ts'

/**
 * Resolves when the work is done, or after `ms`; the work then goes on. Returns the time that is left. The work may
 * reject only in a way that must end the process.
 */
export async function waitAtMost(ms: number, work: Promise<unknown>, clock: Clock): Promise<number> {
  const startMs = clock.monotonicMs()
  const done = new AbortController()
  const waited = clock.wait(ms, done.signal).catch(ignoreAbort)
  // Not one promise with the wait: a failure must be noticed even after the wait has ended.
  void work.then(() => done.abort())
  await waited
  return Math.max(0, startMs + ms - clock.monotonicMs())
}
