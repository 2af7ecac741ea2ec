import { createHash } from 'node:crypto'
import type { CronTime } from 'cron'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Schedule } from '../../../sync/model/source.ts'
import { cronTimeOf, nextTimeMs } from '../../runtime/cron-time.ts'

/** Determines the jitter that separates the polls of one source from those of other sources and machines. */
export interface PollKey {
  readonly id: SourceId
  /** The name of this machine: a thousand machines with one configuration must not poll in the same second. */
  readonly machine: string
}

/**
 * The first poll after the given time. A period is never exceeded: the jitter is subtracted from it. A cron expression
 * uses the machine's local time, as cron does, and the jitter is added. Throws if cron cannot read the expression or it
 * has no time in the next 8 years.
 */
export function nextAt(schedule: Schedule, key: PollKey, after: Date): Date {
  if (schedule.kind === 'every') {
    return new Date(after.getTime() + schedule.periodMs - jitterMs(key, schedule.periodMs))
  }
  const at = cronTimeOf(schedule.expression).getNextDateFrom(after).toJSDate()
  return new Date(at.getTime() + jitterMs(key, periodMs(schedule, at)))
}

/** The time from one poll to the next; infinite if cron finds no further time. */
export function periodMs(schedule: Schedule, after: Date): number {
  if (schedule.kind === 'every') return schedule.periodMs
  const cron = cronTimeOf(schedule.expression)
  const at = nextTimeMs(cron, after.getTime())
  return Number.isFinite(at) ? nextTimeMs(cron, at) - at : at
}

/** The time between the last two times of a cron expression, as seen from any moment before the next one. */
export interface LastPeriod {
  /** Infinite if there are no two times. */
  readonly ms: number
  /** The time from which it is outdated: the next time of the expression. */
  readonly untilMs: number
}

/** Cron needs some milliseconds to compute it. */
export function lastPeriod(expression: string, now: Date): LastPeriod {
  const cron = cronTimeOf(expression)
  const next = nextTimeMs(cron, now.getTime())
  const last = lastTimeMs(cron, now.getTime(), nextTimeMs(cron, next) - next)
  const before = lastTimeMs(cron, last - 1_000, next - last)
  return { ms: Number.isFinite(before) ? last - before : Number.POSITIVE_INFINITY, untilMs: next }
}

/**
 * The last time not after `ms`. Cron computes only the next time, so this searches backwards, starting at the usual
 * distance between two times.
 */
function lastTimeMs(cron: CronTime, ms: number, apartMs: number): number {
  let backMs = Number.isFinite(apartMs) ? apartMs : LONGEST_LOOK_BACK_MS
  while (nextTimeMs(cron, ms - backMs) > ms) {
    if (backMs >= LONGEST_LOOK_BACK_MS) return Number.NEGATIVE_INFINITY
    backMs *= 2
  }
  // The result is one of the times between these two.
  let [early, late] = [ms - backMs, ms]
  for (;;) {
    const time = nextTimeMs(cron, early)
    if (nextTimeMs(cron, time) > ms) return time
    const middle = Math.floor((time + late) / 2)
    if (nextTimeMs(cron, middle) > ms) [early, late] = [time, middle]
    else early = middle
  }
}

const LONGEST_LOOK_BACK_MS = 10 * 366 * 86_400_000

/**
 * At most a tenth of the period and at most a minute: constant for a source, evenly spread over sources and machines.
 */
export function jitterMs({ id, machine }: PollKey, periodMs: number): number {
  const hash = createHash('sha256').update(`${machine}\0${id}`).digest()
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * Math.min(periodMs / 10, LONGEST_JITTER_MS))
}

const LONGEST_JITTER_MS = 60_000
