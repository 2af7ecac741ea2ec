import { createRequire } from 'node:module'
import type * as Cron from 'cron'
import type * as CronErrors from 'cron/dist/errors.js'
import type { Schedule } from '../../sync/model/source.ts'

const require = createRequire(import.meta.url)

/** Parses a cron expression; throws if it is invalid. */
export function cronTimeOf(expression: string): Cron.CronTime {
  return new (cron().CronTime)(expression)
}

/**
 * The next time of an expression after `ms`; infinite if there is none until 8 years from now, which is as far as cron
 * searches.
 */
export function nextTimeMs(time: Cron.CronTime, ms: number): number {
  // The previous time was the last one.
  if (!Number.isFinite(ms)) return Number.POSITIVE_INFINITY
  try {
    return time.getNextDateFrom(new Date(ms)).toMillis()
  } catch (error) {
    // For a valid date, cron throws a `CronError` for this reason alone.
    if (isCronError(error)) return Number.POSITIVE_INFINITY
    throw error
  }
}

/** The next time of a schedule after `ms`. */
export function nextMs(schedule: Schedule, ms: number): number {
  return schedule.kind === 'every' ? ms + schedule.periodMs : nextTimeMs(cronTimeOf(schedule.expression), ms)
}

/** True if cron accepts the expression. */
export function isCronExpression(text: string): boolean {
  return cron().CronTime.validateCronExpression(text).valid
}

/**
 * Loads cron at the first expression, since few configurations have one. Loads it synchronously, since the checks of a
 * value cannot wait.
 */
function cron(): typeof Cron {
  const loaded: typeof Cron = require('cron')
  return loaded
}

/** The index of cron does not export its errors. */
function isCronError(error: unknown): boolean {
  const errors: typeof CronErrors = require('cron/dist/errors.js')
  return error instanceof errors.CronError
}
