import { z } from 'zod'
import { MOST_REASON } from '../../../sync/model/decisions/published-recall.ts'
import { defineRequest, paramsOfSource } from '../../control/request.ts'
import type { LinkedParts } from '../../control/request.ts'
import type { OperatorDecisions } from '../../pull/operator-decisions.ts'
import { DISABLED_BY, DISABLED_PLACES } from '../../status/decision-text.ts'

const DISABLED = z.object({
  isNew: z.boolean(),
  count: z.number(),
  places: DISABLED_PLACES,
  still: DISABLED_BY.optional(),
})

/** The effect of disabling or enabling a skill, as the daemon tells it. */
export type DisableAnswer = z.infer<typeof DISABLED>

interface DisableParts extends LinkedParts {
  readonly decisions: OperatorDecisions
}

/** Takes a skill out of service at once, or brings it back; the skill need not exist. */
export const disableRequest = defineRequest({
  name: 'disable',
  params: paramsOfSource({
    path: z.string(),
    disabled: z.boolean(),
    sourceOnly: z.boolean().optional(),
    reason: z.string().max(MOST_REASON).optional(),
  }),
  answer: DISABLED,
  async run({ decisions, linked }: DisableParts, { source, path, disabled, ...how }, { by }) {
    const disablement = await decisions.disable(source, path, disabled, { ...how, by })
    await linked()
    return disablement
  },
})
