import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { stateText } from '../../sync/model/verdict/verdict.ts'
import { addUriRequest, removeUriRequest } from './addition-requests.ts'
import type { Addition } from './additions.ts'
import { isTemplate, resolveTemplate, templateValues } from './resolve.ts'
import { printTemplates } from './templates.ts'

export const addUnlisted: Command = {
  name: 'mcp-source add',
  summary: 'Add a skill that a server does not list',
  operands: {
    text: '[SOURCE [URI|TEMPLATE|NUMBER [VARIABLE=VALUE…]]]',
    most: Number.POSITIVE_INFINITY,
    offers: ['sources', []],
  },
  details: `
  URI is the address of its SKILL.md on that server. TEMPLATE is a template of the server for such addresses, and NUMBER
  its place in the list, which is printed without either: of SOURCE, or of all MCP sources. On a terminal it asks for each
  variable without a VALUE, and offers the values that the server has; elsewhere that is an error.

  The server is queried for the skill now and at each poll. An added skill has the same checks, limits and approval as
  any other.
`,
  examples: [
    'skillsyncd mcp-source add acme skill://refunds/SKILL.md',
    'skillsyncd mcp-source add acme',
    'skillsyncd mcp-source add acme 1 product=payments',
  ],
  options: {
    unverified: {
      type: 'boolean',
      help: 'for a server of an older revision, which cannot list skills: trust the SKILL.md at the URI and the files beside it as they are now',
    },
    remove: { type: 'boolean', help: 'remove the skill at the URI again' },
  },
  async run(context) {
    const [source, uri, ...rest] = context.operands
    const isRemoved = context.values['remove'] === true
    const isUnverified = context.values['unverified'] === true
    if (isRemoved && isUnverified) throw new UsageError('--remove and --unverified exclude each other')
    if (source === undefined || uri === undefined) {
      if (isRemoved || isUnverified) throw new UsageError('"mcp-source add" wants a source and the URI of a SKILL.md')
      return printTemplates(context, await configFor(context))
    }
    if (isTemplate(uri) ? isRemoved : rest.length > 0)
      throw new UsageError('VARIABLE=VALUE goes with a template alone, and --remove with a URI')
    const values = templateValues(rest)
    const skill = await withWriter(context, await configFor(context), async (ask) => {
      if (isTemplate(uri)) return resolveTemplate({ source, which: uri, isUnverified }, values, context, ask)
      return isRemoved ? ask(removeUriRequest, { source, uri }) : ask(addUriRequest, { source, uri, isUnverified })
    })
    if (skill !== undefined) print(context, skill, isRemoved)
    else context.streams.stderr.write('skillsyncd: cancelled; nothing was added\n')
    return skill === undefined ? 1 : 0
  },
}

function print(context: Context, skill: Addition, isRemoved: boolean): void {
  if (context.json) return printJson(context, { skill })
  const state = isRemoved ? removedText(skill) : addedText(skill)
  const notes = isRemoved ? [] : skill.findings.map((message) => `  ${message}`)
  printLines(context, [`${skill.source}/${skill.path}: ${state}`, ...notes].map(printableLine))
}

/** Its server may list the skill now, and the last skill of a source is not removed silently. */
function removedText({ source, state }: Addition): string {
  return state === undefined ? 'removed' : `removed; it is still served: skillsyncd status ${source} shows the reason`
}

function addedText({ source, path, state }: Addition): string {
  if (state === undefined) return `added, but not here yet; skillsyncd status ${source} shows the reason`
  return `added, and ${stateText(state)}${state === 'waiting' ? ` for skillsyncd approve ${source}/${path}` : ''}`
}
