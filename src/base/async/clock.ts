import { setTimeout as delay } from 'node:timers/promises'

/** The time source of the daemon. `systemClock` is the real one; tests advance their own by hand. */
export interface Clock {
  now(): Date
  /** Milliseconds that only increase, from an arbitrary start. For durations. */
  monotonicMs(): number
  /** Resolves after `ms`; once and late if the machine slept meanwhile. Rejects with an AbortError. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  wait,
}

/** The monotonic clock stops while the machine sleeps, so a long wait checks the wall clock at this interval. */
const LOOK_MS = 60_000

/**
 * Ends when either clock reaches the end. A wall clock that is set back does not prolong the wait, and after hours of
 * suspend it ends within a minute. The pieces also stay below 2^31-1 ms, above which a Node timer fires at once.
 */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  const monotonicEnd = performance.now() + ms
  // The wall clock has whole milliseconds: a part of the current one may be over already.
  const wallEnd = Date.now() + ms + 1
  for (;;) {
    signal.throwIfAborted()
    const leftMs = Math.min(monotonicEnd - performance.now(), wallEnd - Date.now())
    if (leftMs <= 0) return
    await delay(Math.min(Math.ceil(leftMs), LOOK_MS), undefined, { signal })
  }
}
