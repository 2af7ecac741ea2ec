import { z } from 'zod'
import { defineRequest, paramsOfSources } from '../../daemon/control/request.ts'
import type { LinkedParts } from '../../daemon/control/request.ts'
import { mayPublish } from '../../daemon/runtime/context.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import type { Scans } from './scans.ts'

export interface ScanParts extends LinkedParts, Pick<DaemonContext, 'readOnly' | 'replica'> {
  readonly scans: Scans
}

/** Scans what is served by the scanner of the gate. `withholdsAll`: takes out of service whatever it refuses. */
export const scanRequest = defineRequest({
  name: 'scan',
  params: paramsOfSources({ isFresh: z.boolean(), withholdsAll: z.boolean() }),
  answer: z.object({
    at: z.string(),
    scanned: z.number(),
    counts: z.object({ error: z.number(), warning: z.number(), note: z.number(), none: z.number() }),
    failed: z.array(z.object({ source: z.string(), path: z.string(), message: z.string() })).readonly(),
    refused: z.array(z.object({ skill: z.string(), is: z.enum(['withheld', 'served', 'accepted']) })).readonly(),
    cleared: z.array(z.string()).readonly(),
    waiting: z.object({ skills: z.number(), of: z.number(), mostPercent: z.number() }).optional(),
  }),
  event: z.object({ scanning: z.object({ done: z.number(), of: z.number() }) }),
  async run({ scans, linked, ...context }: ScanParts, asked, { send, signal }) {
    if (!mayPublish(context))
      throw new OperatorError('bad-request', 'Cannot scan here: another process writes; run it where that one runs')
    const end = await scans.scan(asked, (progress) => send({ scanning: progress }), signal)
    await linked()
    return end
  },
})
