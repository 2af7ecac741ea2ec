import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Context, Option } from '../../daemon/cli/command.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import type { Addition } from './additions.ts'

/** The option of the commands that add a skill. */
export const UNVERIFIED: Option = {
  type: 'boolean',
  help: 'for a server of an older revision, which cannot list skills: trust the SKILL.md at the URI and the files beside it as they are now',
}

export function printAdded(context: Context, added: Addition): void {
  if (context.json) printJson(context, { skill: added })
  else printLines(context, [`${added.source}/${added.path}: ${stateOf(added)}`, ...noteLines(added)].map(printableLine))
}

function stateOf({ source, path, standing, pending }: Addition): string {
  if (standing === undefined) return `added, but not here yet; skillsyncd status ${source} shows the reason`
  if (standing === 'withheld') return 'added, and withheld'
  if (pending) return `added; it waits for skillsyncd approve ${source}/${path}`
  return standing === 'tools' ? 'added, for the tools only' : `added, and ${standing}`
}

function noteLines({ findings }: Addition): readonly string[] {
  return findings.map((message) => `  ${message}`)
}
