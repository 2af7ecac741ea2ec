import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { RELOAD_MS } from '../../cli/edit-configuration.ts'
import type { ReloadAnswer } from '../../control/process-requests.ts'
import { reloadRequest } from '../../control/process-requests.ts'
import { requestDaemon } from './daemon-request.ts'

export const reload: Command = {
  name: 'reload',
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

function linesOf({ added, removed, changed, isNew }: ReloadAnswer): string[] {
  if (!isNew) return ['nothing to apply: the daemon has this configuration']
  const lines = [
    ...added.map((id) => `added ${id}`),
    ...removed.map((id) => `removed ${id}`),
    ...changed.map((id) => `changed ${id}`),
  ]
  return lines.length === 0 ? ['applied; no source is another'] : lines
}
