import type { Clock } from '../../../base/async/clock.ts'
import type { Schedule } from '../../../sync/model/source.ts'
import { lastPeriod, type LastPeriod } from './poll-times.ts'

/**
 * The current time between two polls of a schedule. For a cron expression it is computed once for each of its times.
 */
export class PeriodCache {
  readonly #clock: Pick<Clock, 'now'>
  /** By cron expression, which many sources can share. */
  readonly #known = new Map<string, LastPeriod & { readonly sinceMs: number }>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** In milliseconds; infinite if there are no two times. */
  of(schedule: Schedule): number {
    if (schedule.kind === 'every') return schedule.periodMs
    const { expression } = schedule
    const now = this.#clock.now()
    const nowMs = now.getTime()
    const known = this.#known.get(expression)
    if (known !== undefined && known.sinceMs <= nowMs && nowMs < known.untilMs) return known.ms
    const period = lastPeriod(expression, now)
    this.#known.set(expression, { ...period, sinceMs: nowMs })
    return period.ms
  }
}
