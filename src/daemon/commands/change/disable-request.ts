import { z } from 'zod'
import { defineRequest, paramsOfSource } from '../../control/request.ts'
import type { LinkedParts } from '../../control/request.ts'
import type { OperatorDecisions } from '../../pull/operator-decisions.ts'
import { RECALL_REASON } from '../../status/decision-text.ts'

const BY = z.object({
  as: z.string(),
  by: z.enum(['path', 'uri', 'name', 'content', 'holds', 'scan']),
  recall: RECALL_REASON.exactOptional(),
})

const DISABLED = z.object({
  isNew: z.boolean(),
  count: z.number(),
  places: z.array(BY.extend({ place: z.string() })).readonly(),
  still: BY.optional(),
})

/** The effect of disabling or enabling a skill, as the daemon tells it. */
export type DisableAnswer = z.infer<typeof DISABLED>

interface DisableParts extends LinkedParts {
  readonly decisions: OperatorDecisions
}

/** Takes a skill out of service at once, or brings it back; the skill need not exist. */
export const disableRequest = defineRequest({
  name: 'disable',
  params: paramsOfSource({ path: z.string(), disabled: z.boolean(), sourceOnly: z.boolean().optional() }),
  answer: DISABLED,
  async run({ decisions, linked }: DisableParts, { source, path, disabled, sourceOnly }) {
    const disablement = await decisions.disable(source, path, disabled, sourceOnly)
    await linked()
    return disablement
  },
})
