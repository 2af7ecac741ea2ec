import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isAbortError } from '../../base/abort-error.ts'
import type { Config } from '../config/config.ts'
import { OperatorError } from '../base/operator-error.ts'
import { request } from './requests.ts'

/**
 * Has stale sources looked at, or the one that is named; resolves when that is done, or was waited for long enough. Says whether
 * there is anybody who does it.
 */
export type AskForLook = (source: SourceId | undefined) => Promise<boolean>

/**
 * Asks whoever writes the state folder, and says whether anybody listens. Where nobody does, where it is of another version or
 * configuration, or says nothing, the answer is made from what is there.
 */
export async function askForLook(config: Config, source: SourceId | undefined, signal: AbortSignal): Promise<boolean> {
  const timeoutMs = config.serve.tools?.waitMs ?? 0
  try {
    const answer = await request(config, 'look', source === undefined ? {} : { sources: [source] }, {
      signal,
      timeoutMs,
    })
    return answer !== undefined
  } catch (error) {
    if (!(error instanceof OperatorError) && !(error instanceof SyncError) && !isAbortError(error)) throw error
    return true
  }
}
