import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { sourceNamed } from '../../config/named-sources.ts'
import { defineRequest, paramsOf } from '../../control/request.ts'
import type { LinkedParts } from '../../control/request.ts'
import type { RollbackTarget } from '../../pull/rollback.ts'
import type { Rollbacks } from '../../pull/rollbacks.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { HOLD } from './decide-requests.ts'

const REVISION = z.object({ ref: z.string(), commit: z.string() })

const ROLLED_BACK = z.object({
  source: z.string(),
  from: REVISION.optional(),
  to: REVISION,
  decision: z.object({
    hold: HOLD.optional(),
    skipped: z.object({ commit: z.string() }).optional(),
  }),
})

/** A source that serves an earlier revision, as the daemon tells it. */
export type RolledBackSource = z.infer<typeof ROLLED_BACK>

const TARGET = z.object({
  generation: z.number().optional(),
  source: z.string().optional(),
  commit: z.string().optional(),
})

interface RollbackParts extends LinkedParts {
  readonly config: Config
  readonly rollbacks: Rollbacks
}

/**
 * Serves a previous revision again. The revision it replaces is skipped, and the next commit is taken. A hold stays, at
 * the earlier revision.
 */
export const rollbackRequest = defineRequest({
  name: 'rollback',
  isForLeader: true,
  params: paramsOf(TARGET.shape),
  answer: z.array(ROLLED_BACK).readonly(),
  async run({ config, rollbacks, linked }: RollbackParts, target, { signal, by }) {
    const done = await rollbacks.to({ ...targetOf(target, config), by }, signal)
    await linked()
    return done
  },
})

function targetOf({ generation, source, commit }: z.infer<typeof TARGET>, config: Config): RollbackTarget {
  if (source !== undefined && commit !== undefined && commit !== '')
    return { kind: 'commit', source: sourceNamed(source, config), commit }
  if (generation !== undefined) return { kind: 'generation', number: generation }
  throw new OperatorError('bad-request', 'The request names neither a generation, nor a source and a commit')
}
