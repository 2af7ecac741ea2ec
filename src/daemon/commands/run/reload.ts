import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import type { Config } from '../../config/config.ts'
import { lockHolderOf } from '../../control/daemon-lock.ts'
import type { ReloadAnswer } from '../../control/process-requests.ts'
import { reloadRequest } from '../../control/process-requests.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { absenceText, silentHolderText } from '../../control/write-lock.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { requestDaemon } from './daemon-request.ts'

export const reload: Command = {
  name: 'reload',
  summary: 'Apply a changed configuration to the running daemon',
  details: `
  Removed sources are out of service when the command ends, and new ones are pulled. A configuration that is refused
  changes nothing. The address, the state folder and the limits of connections need a restart.
`,
  examples: ['skillsyncd reload'],
  async run(context) {
    const config = await configFor(context)
    const { answer: reloaded } = await requestDaemon(config, {
      request: reloadRequest,
      signal: context.signal,
      timeoutMs: RELOAD_MS,
      mend: 'skillsyncd start runs one',
    })
    if (context.json) printJson(context, reloaded)
    else printLines(context, linesOf(reloaded))
    return 0
  },
}

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
const RELOAD_MS = 120_000

function linesOf({ added, removed, changed, isNew }: ReloadAnswer): string[] {
  if (!isNew) return ['nothing to apply: the daemon has this configuration']
  const lines = [
    ...added.map((id) => `added ${id}`),
    ...removed.map((id) => `removed ${id}`),
    ...changed.map((id) => `changed ${id}`),
  ]
  return lines.length === 0 ? ['applied; no source is another'] : lines
}
