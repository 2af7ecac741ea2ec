import type { Clock } from '../../base/clock.ts'

/**
 * Pings while this thread's event loop keeps time, until the signal. If a timer fires late by more than its own period,
 * the event loop was blocked, and no ping is sent. A loop that blocks repeatedly counts as dead, as it is for clients.
 * Other threads and processes, and the duration of pulls, have no influence.
 */
export async function pingWatchdog(
  watchdogMs: number,
  clock: Pick<Clock, 'monotonicMs' | 'wait'>,
  ping: () => void,
  signal: AbortSignal,
): Promise<never> {
  const periodMs = watchdogMs / PINGS_IN_TIME
  for (;;) {
    const due = clock.monotonicMs() + periodMs
    await clock.wait(periodMs, signal)
    if (clock.monotonicMs() - due <= periodMs) ping()
  }
}

/** Enough for one ping to be skipped and another one to be slow. */
const PINGS_IN_TIME = 4
