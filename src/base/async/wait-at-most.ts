import { CANCELED, ignoreAbort } from './abort-error.ts'
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
  void work.then(() => done.abort(CANCELED))
  await waited
  return Math.max(0, startMs + ms - clock.monotonicMs())
}

/** Returns the result of the work, or `undefined` after `ms`; the work then goes on. Rejects if the signal aborts first. */
export async function resultWithin<Result>(
  ms: number,
  work: Promise<Result>,
  clock: Pick<Clock, 'wait'>,
  signal?: AbortSignal,
): Promise<Result | undefined> {
  const over = new AbortController()
  const until = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
  try {
    return await Promise.race([work, clock.wait(ms, until).then(() => undefined)])
  } finally {
    over.abort(CANCELED)
  }
}

/** Calls back after `ms`, unless the returned value is disposed before. */
export function callAfter(ms: number, call: () => unknown, clock: Pick<Clock, 'wait'>): Disposable {
  const over = new AbortController()
  void clock.wait(ms, over.signal).then(call, ignoreAbort)
  return { [Symbol.dispose]: () => over.abort(CANCELED) }
}
