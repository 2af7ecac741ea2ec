import { z } from 'zod'
import type { Config } from '../../daemon/config/config.ts'
import { sourceNamed } from '../../daemon/config/named-sources.ts'
import { defineRequest, paramsOf } from '../../daemon/control/request.ts'
import type { Puller } from '../../daemon/pull/puller.ts'
import type { PullScheduler } from '../../daemon/pull/schedule/pull-scheduler.ts'
import { TRIGGERS } from '../../sync/model/generation.ts'

export interface PullParts {
  readonly config: Config
  readonly followedLock: { look(signal: AbortSignal): Promise<void> }
  readonly scheduler: PullScheduler
  readonly puller: Puller
}

/**
 * Pulls a source for another process of the hub. Fails with the error of the pull. A report of a change, which several
 * processes may have got, is only scheduled, as one that came here.
 */
export const pullRequest = defineRequest({
  name: 'pull',
  checks: 'nothing',
  isForLeader: true,
  params: paramsOf({ source: z.string(), trigger: z.enum(TRIGGERS) }),
  answer: z.object({ kind: z.enum(['unchanged', 'updated', 'waiting']) }),
  async run({ config, followedLock, scheduler, puller }: PullParts, { source, trigger }, { signal }) {
    if (source === config.lockFrom?.repository.source.id) {
      await followedLock.look(signal)
      return { kind: 'unchanged' }
    }
    const id = sourceNamed(source, config)
    if (trigger === 'webhook' || trigger === 'change') {
      scheduler.trigger(id)
      return { kind: 'unchanged' }
    }
    const outcome = await puller.request(id, trigger)
    if (outcome.kind === 'failed') throw outcome.error
    return { kind: outcome.kind }
  },
})
