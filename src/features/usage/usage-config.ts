import { z } from 'zod'
import { count } from '../../daemon/config/schema/scalars.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'

/** The keys of the counts of use. */
export const USAGE_KEYS = {
  usage: z
    .strictObject({
      enabled: z.boolean().optional().describe('false: no use is counted. Default: true.'),
      principals: z
        .boolean()
        .optional()
        .describe('true: the use of each principal is counted too, by the id of its token. Default: false.'),
      days: count(3_650).optional().describe('Days that are kept. Default: 400.'),
      otlp: z.boolean().optional().describe('true: POST /v1/logs takes the telemetry of Claude Code. Default: false.'),
    })
    .optional()
    .transform(({ enabled = true, principals = false, days = 400, otlp = false } = {}) =>
      enabled ? { principals, days, otlp } : undefined,
    )
    .describe('The counts of use: how often which skill was read.'),
}

/** The configuration, with the counts of use. */
export type CountedConfig = ServedConfig & UsageSettings

/** The counts of use in the configuration. */
export interface UsageSettings {
  /** `undefined` if no use is counted. */
  readonly usage: z.output<typeof USAGE_KEYS.usage>
}
