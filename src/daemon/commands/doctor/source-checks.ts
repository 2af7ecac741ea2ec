import { SyncError } from '../../../sync/model/sync-error.ts'
import { revisionText } from '../../../sync/pull/move-policy.ts'
import { failedCheck, verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { revisionRequest } from '../../control/upstream-requests.ts'
import { hasTrees, withLoneUpstream } from '../../pull/lone-upstream.ts'
import { OperatorError } from '../../runtime/operator-error.ts'

/**
 * Asks each source for the commit of its ref, as a pull does. A daemon that runs asks with its own credentials; without
 * one, this process asks.
 */
export function sourceChecks(ground: Ground): Check[] {
  return ground.config.sources.map((configured): Check => {
    const { id } = configured.source
    const look = async (signal: AbortSignal): Promise<CheckResult[]> => [
      await sourceChecked(configured, ground, signal),
    ]
    return { name: 'source', subject: id, look }
  })
}

async function sourceChecked(configured: ConfiguredSource, ground: Ground, signal: AbortSignal): Promise<CheckResult> {
  const { id } = configured.source
  const { ok, unknown } = verdicts('source', id)
  try {
    const asked = await askedOfDaemon(configured, ground, signal)
    if (asked !== undefined) return ok(`${asked.ref} is at ${revisionText(asked)}`)
    if (!hasTrees(configured)) return unknown('only a running daemon can ask it', 'skillsyncd start, and check again')
    const { whole } = ground
    const revision = await withLoneUpstream(configured, whole, ground, async (upstream) => upstream.resolve(signal))
    return ok(`${revision.ref} is at ${revisionText(revision)}`)
  } catch (error) {
    if (signal.aborted || !(error instanceof SyncError || error instanceof OperatorError)) throw error
    return failedCheck(error, id)
  }
}

/** `undefined` if no daemon runs with this configuration; another check reports its faults. */
async function askedOfDaemon({ source }: ConfiguredSource, { whole }: Ground, signal: AbortSignal) {
  try {
    return (await askRunning(whole, revisionRequest, { source: source.id }, { signal, timeoutMs: ANSWER_MS }))?.answer
  } catch (error) {
    if (error instanceof OperatorError && NO_ANSWER.has(error.code)) return undefined
    throw error
  }
}

const ANSWER_MS = 8_000
const NO_ANSWER: ReadonlySet<string> = new Set(['other-config', 'other-version', 'timed-out', 'connection-lost'])
