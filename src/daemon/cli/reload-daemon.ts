import type { Config } from '../config/config.ts'
import { lockHolderOf } from '../control/daemon-lock.ts'
import { reloadRequest } from '../control/process-requests.ts'
import { askRunning } from '../control/running-daemon.ts'
import { absenceText, silentHolderText } from '../control/write-lock.ts'
import { OperatorError } from '../runtime/operator-error.ts'

/** Has a running daemon apply the configuration. Returns the reason why none does, which `absent` completes. */
export async function reloadDaemon(
  config: Config,
  absent: string,
  signal: AbortSignal,
): Promise<{ readonly isReloaded: boolean; readonly text: string }> {
  const holder = await lockHolderOf(config.state)
  const none = { isReloaded: false, text: `${await absenceText(config.state)}; ${absent}` }
  if (holder !== undefined && holder.command !== 'start') return none
  const answer = await askRunning(config, reloadRequest, {}, { signal, timeoutMs: RELOAD_MS }).catch(undefinedIfUnknown)
  if (answer !== undefined) return { isReloaded: true, text: 'the daemon applies it' }
  const silent = await silentHolderText(
    holder,
    'skillsyncd reload applies it when it answers again; see skillsyncd doctor if it stays silent',
  )
  return { isReloaded: false, text: silent ?? none.text }
}

/** A process that a client started may have taken the lock meanwhile. It cannot reload. */
function undefinedIfUnknown(error: unknown): undefined {
  if (error instanceof OperatorError && error.code === 'unknown-method') return undefined
  throw error
}

/** Running pulls are stopped, and get time to end. */
export const RELOAD_MS = 120_000
