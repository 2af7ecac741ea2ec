import { createRequire } from 'node:module'
import type * as Cron from 'cron'

const require = createRequire(import.meta.url)

/** The times of a cron expression; throws for one that cron cannot read. */
export function cronTimeOf(expression: string): Cron.CronTime {
  return new (cron().CronTime)(expression)
}

/** Whether cron can read it. */
export function isCronExpression(text: string): boolean {
  return cron().CronTime.validateCronExpression(text).valid
}

/** Loaded with the first expression, since few configurations have one; at once, since the checks of a value cannot wait. */
function cron(): typeof Cron {
  const loaded: typeof Cron = require('cron')
  return loaded
}
