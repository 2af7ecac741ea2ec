import { z } from 'zod'
import { MOST_REASON } from '../../../sync/model/decisions/published-recall.ts'
import { isObjectId } from '../../../sync/model/revision.ts'
import { expectLaterRing } from '../../config/named-rings.ts'
import { defineRequest, paramsOfSource, type LinkedParts } from '../../control/request.ts'
import { VERBS } from '../../pull/decide.ts'
import type { OperatorDecisions } from '../../pull/operator-decisions.ts'
import type { Rollbacks } from '../../pull/rollbacks.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { OperatorError } from '../../runtime/operator-error.ts'

interface WaitingParts {
  readonly decisions: OperatorDecisions
}

interface DecisionParts extends WaitingParts, LinkedParts {
  readonly config: ServedConfig
  readonly rollbacks: Rollbacks
}

const ID = z.string().refine(isObjectId)
const WAITING = z
  .object({
    revision: z.object({ ref: z.string(), commit: ID, tag: ID.optional() }),
    code: z.string(),
    message: z.string(),
  })
  .transform(({ revision, ...why }) => ({ ...revision, ...why }))

/** The waiting revision of a source, as the writer of its state folder reports it. */
export type WaitingRevision = z.infer<typeof WAITING>

/** Returns the revision of a source that waits for a decision, and the reason. Fails if nothing waits. */
export const waitingRequest = defineRequest({
  name: 'waiting',
  params: paramsOfSource({ verb: z.enum(['approve', 'reject']) }),
  answer: WAITING,
  run: async ({ decisions }: WaitingParts, { source, verb }) => decisions.waiting(source, verb),
})

/** A hold as the writer of the state folder reports it. */
export const HOLD = z.object({
  commit: ID.optional(),
  noPoll: z.literal(true).optional(),
  reason: z.string().optional(),
})

const DECISION = {
  verb: z.enum(VERBS),
  commit: z.string().optional(),
  tag: z.string().optional(),
  ring: z.string().optional(),
  reason: z.string().max(MOST_REASON).optional(),
  noPoll: z.boolean().optional(),
}

/** The details of a decision, as the operator gave them. */
export type DecisionParams = Omit<z.input<z.ZodObject<typeof DECISION>>, 'verb'>

/**
 * Stores the operator's decision about a source, and returns the hold that it has then. A hold at a named commit is
 * served at once; of anything else, the next pull follows it.
 */
export const decideRequest = defineRequest({
  name: 'decide',
  isForLeader: true,
  params: paramsOfSource(DECISION),
  answer: z.object({ hold: HOLD.optional() }),
  async run(parts: DecisionParts, { source, ring, reason, noPoll, ...named }, { signal, by }) {
    const { config, decisions, rollbacks, linked } = parts
    const { verb, commit } = named
    if (ring !== undefined) {
      expectLaterRing(ring, config)
      if (verb !== 'hold' && verb !== 'release')
        throw new OperatorError('bad-request', `A ring is held or released, and "${verb}" is neither`)
      const { ringHolds } = await decisions.decide(source, verb, { ring, by, hold: { reason } })
      return { hold: ringHolds?.[ring] }
    }
    if (verb !== 'hold' || commit === undefined)
      return decisions.decide(source, verb, { ...named, by, hold: { reason, noPoll } })
    const decision = await rollbacks.hold(source, commit, { reason, noPoll, by }, signal)
    await linked()
    return decision
  },
})
