import { createRequire } from 'node:module'
import type * as Cron from 'cron'

const require = createRequire(import.meta.url)

/** Parses a cron expression; throws if it is invalid. */
export function cronTimeOf(expression: string): Cron.CronTime {
  return new (cron().CronTime)(expression)
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
