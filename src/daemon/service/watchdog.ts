import type { Clock } from '../../base/clock.ts'

/**
 * Pings as long as the loop of this thread keeps time, until the signal. A timer that fires late by more than its own period
 * says that the loop stood still: then nothing is said, and a loop that does so again and again is taken for dead, as it
 * is for clients. What other threads and processes do, and how long a pull takes, plays no part.
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

/** So that one may be left out, and another be slow on its way. */
const PINGS_IN_TIME = 4
