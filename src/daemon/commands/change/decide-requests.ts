import { z } from 'zod'
import { isObjectId } from '../../../sync/model/revision.ts'
import { defineRequest, NOTHING, paramsOfSource } from '../../control/request.ts'
import { VERBS } from '../../pull/decide.ts'
import type { OperatorDecisions } from '../../pull/operator-decisions.ts'

interface DecisionParts {
  readonly decisions: OperatorDecisions
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
  run: async ({ decisions }: DecisionParts, { source, verb }) => decisions.waiting(source, verb),
})

/** Stores the operator's decision about a source. The next pull follows it. */
export const decideRequest = defineRequest({
  name: 'decide',
  isForLeader: true,
  params: paramsOfSource({
    verb: z.enum(VERBS),
    commit: z.string().optional(),
    tag: z.string().optional(),
    keepsPin: z.boolean().optional(),
  }),
  answer: NOTHING,
  run: async ({ decisions }: DecisionParts, { source, verb, ...named }) => decisions.decide(source, verb, named),
})
