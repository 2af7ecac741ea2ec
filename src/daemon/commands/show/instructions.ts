import { INSTRUCTIONS } from '../../../serve/mcp/tools/instructions.ts'
import { printJson } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'

/** Prints the guide for agents, with the text of the prompt `init-skills`. */
export const instructions: Command = {
  name: 'instructions',
  needsConfiguration: false,
  details: `
  It is the text of the prompt init-skills. It needs no configuration and no daemon.
`,
  examples: ['skillsyncd instructions >> AGENTS.md'],
  options: {
    'no-xml': { type: 'boolean', help: 'without the lines <skills-mcp-instructions> around it' },
  },
  async run(context) {
    const text = context.values['no-xml'] === true ? INSTRUCTIONS : `<${TAG}>\n${INSTRUCTIONS}</${TAG}>\n`
    if (context.json) printJson(context, { instructions: text })
    else context.streams.stdout.write(text)
    return 0
  },
}

/** The tags mark the beginning and end of the guide in a file to which it is appended, for users and agents. */
const TAG = 'skills-mcp-instructions'
