import { MODE_OPTIONS, configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { withHubLook, withWriter } from '../../cli/daemon-client.ts'
import { exitOfPulls, linesOfProblems, linesOfPull, pullWithProgress } from '../../cli/pull-results.ts'
import { sourcesNamed } from '../../config/named-sources.ts'

export const sync: Command = {
  name: 'sync',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  The running daemon fetches, or this process if none runs. A lock and a hold still count: skillsyncd update
  moves a lock, skillsyncd release ends a hold.
`,
  examples: ['skillsyncd sync', 'skillsyncd sync team'],
  options: MODE_OPTIONS,
  async run(context) {
    const config = await withHubLook(context, await configFor(context))
    const ids = sourcesNamed(context.operands, config)
    const { ends, problems } = await withWriter(context, config, (ask) => pullWithProgress(context, ids, ask))
    if (context.json) printJson(context, { sources: ends, problems })
    else printLines(context, [...ends.flatMap(linesOfPull), ...linesOfProblems(problems)])
    const exit = exitOfPulls(ends)
    return exit === 0 && problems.length > 0 ? 3 : exit
  },
}
