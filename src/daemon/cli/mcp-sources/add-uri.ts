import { printableLine } from '../../base/log-line.ts'
import { UsageError } from '../../base/usage-error.ts'
import type { Addition } from '../../mcp-sources/named-skills.ts'
import { configFor, printJson, printLines } from '../command.ts'
import type { Command, Context } from '../command.ts'
import { withWriter } from '../daemon-client.ts'
import { ADDITION, UNVERIFIED, printAdded } from './addition-output.ts'

export const addUri: Command = {
  name: 'add-uri',
  summary: 'Add a skill that an MCP source lists nowhere, by its URI',
  operands: { text: 'SOURCE URI', most: 2, offers: ['sources', []] },
  details: `
  URI is that of its SKILL.md, as the server of the source calls it. The server is asked whether it has a skill there;
  from then on each look at it asks again. What is added is judged, bounded and approved like any other skill.
`,
  options: { unverified: UNVERIFIED, remove: { type: 'boolean', help: 'take it back' } },
  async run(context) {
    const [source, uri] = context.operands
    if (source === undefined || uri === undefined)
      throw new UsageError('"add-uri" wants a source and the URI of a SKILL.md, as its server calls it')
    const config = await configFor(context)
    const isRemoved = context.values['remove'] === true
    const isUnverified = context.values['unverified'] === true
    if (isRemoved && isUnverified) throw new UsageError('--remove and --unverified exclude each other')
    const answer = await withWriter(context, config, (ask) =>
      isRemoved ? ask('remove-uri', { source, uri }) : ask('add-uri', { source, uri, isUnverified }),
    )
    const skill = ADDITION.parse(answer)
    if (isRemoved) printRemoved(context, skill)
    else printAdded(context, skill)
    return 0
  },
}

function printRemoved(context: Context, skill: Addition): void {
  const { source, path, standing } = skill
  // Its server may list the skill now, and the last skill of a source is not removed silently.
  const left = standing === undefined ? '' : `; it is still there: skillsyncd status ${source} says why`
  if (context.json) printJson(context, { skill })
  else printLines(context, [printableLine(`${source}/${path}: taken back${left}`)])
}
