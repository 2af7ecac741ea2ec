import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { UNVERIFIED, printAdded } from './addition-output.ts'
import { addUriRequest, removeUriRequest } from './addition-requests.ts'
import type { Addition } from './additions.ts'

export const addUri: Command = {
  name: 'mcp-source add-uri',
  summary: 'Add a skill that is not listed, by its URI',
  operands: { text: 'SOURCE URI', most: 2, offers: ['sources', []] },
  details: `
  URI is the address of its SKILL.md on that server. The server is queried for the skill now and at each poll. An added
  skill has the same checks, limits and approval as any other.
`,
  examples: ['skillsyncd mcp-source add-uri acme skill://refunds/SKILL.md'],
  options: { unverified: UNVERIFIED, remove: { type: 'boolean', help: 'remove it again' } },
  async run(context) {
    const [source, uri] = context.operands
    if (source === undefined || uri === undefined)
      throw new UsageError('"mcp-source add-uri" wants a source and the URI of a SKILL.md on its server')
    const config = await configFor(context)
    const isRemoved = context.values['remove'] === true
    const isUnverified = context.values['unverified'] === true
    if (isRemoved && isUnverified) throw new UsageError('--remove and --unverified exclude each other')
    const skill = await withWriter(context, config, async (ask) =>
      isRemoved ? ask(removeUriRequest, { source, uri }) : ask(addUriRequest, { source, uri, isUnverified }),
    )
    if (isRemoved) printRemoved(context, skill)
    else printAdded(context, skill)
    return 0
  },
}

function printRemoved(context: Context, skill: Addition): void {
  const { source, path, standing } = skill
  // Its server may list the skill now, and the last skill of a source is not removed silently.
  const left = standing === undefined ? '' : `; it is still served: skillsyncd status ${source} shows the reason`
  if (context.json) printJson(context, { skill })
  else printLines(context, [printableLine(`${source}/${path}: removed${left}`)])
}
