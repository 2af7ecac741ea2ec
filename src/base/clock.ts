import { setTimeout as delay } from 'node:timers/promises'

/** Time, as the daemon sees it. The system's own stands below; tests move one by hand. */
export interface Clock {
  now(): Date
  /** Milliseconds that only ever grow, from an arbitrary start. For durations. */
  monotonicMs(): number
  /** Resolves after so long. A machine that slept meanwhile wakes it late, once. Rejects with an AbortError. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  wait,
}

/** The monotonic clock stands still while the machine sleeps, so a long wait looks at the wall clock this often. */
const LOOK_MS = 60_000

/**
 * Over when either clock says so: a wall clock set back does not prolong the wait, and hours of suspend end it within a
 * minute. The pieces also stay clear of 2^31-1 ms, above which a timer of Node fires at once.
 */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  const monotonicEnd = performance.now() + ms
  // The wall clock tells whole milliseconds: a part of one may be over already.
  const wallEnd = Date.now() + ms + 1
  for (;;) {
    signal.throwIfAborted()
    const leftMs = Math.min(monotonicEnd - performance.now(), wallEnd - Date.now())
    if (leftMs <= 0) return
    await delay(Math.min(Math.ceil(leftMs), LOOK_MS), undefined, { signal })
  }
}
