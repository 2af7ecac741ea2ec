import { z } from 'zod'
import { isAbortError } from '../../base/async/abort-error.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Config } from '../config/config.ts'
import { sourceNamed } from '../config/named-sources.ts'
import type { PullScheduler } from '../pull/schedule/pull-scheduler.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { defineRequest, NOTHING, paramsOf } from './request.ts'
import { askRunning } from './running-daemon.ts'

/**
 * Requests a check of stale sources, or of the named one. Resolves when the check is done, or after a timeout. False if
 * no process performs checks.
 */
export type AskForLook = (source: SourceId | undefined) => Promise<boolean>

/**
 * Requests a check from the process that writes the state folder. False if no process listens. If the writer has
 * another version or configuration, or does not answer, the caller continues with the stored state.
 */
export async function requestCheck(
  config: Config,
  source: SourceId | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const timeoutMs = config.serve.toolWaitMs
  try {
    const answer = await askRunning(config, lookRequest, source === undefined ? {} : { sources: [source] }, {
      signal,
      timeoutMs,
    })
    return answer !== undefined
  } catch (error) {
    if (!(error instanceof OperatorError) && !(error instanceof SyncError) && !isAbortError(error)) throw error
    return true
  }
}

interface LookParts {
  readonly config: Config
  readonly scheduler: PullScheduler
}

/** Checks the stale sources, or the one that is named, for a process that answers clients. */
export const lookRequest = defineRequest({
  name: 'look',
  checks: 'mode',
  isForLeader: true,
  params: paramsOf({ sources: z.array(z.string()).optional() }),
  answer: NOTHING,
  async run({ config, scheduler }: LookParts, { sources = [] }) {
    const [source] = sources
    await scheduler.refresh(source === undefined ? undefined : sourceNamed(source, config))
  },
})
