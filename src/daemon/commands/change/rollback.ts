import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { commitNamed } from './commit-operand.ts'
import { SHOWN_MOMENTS, linesOfMoments, momentsOf } from './log.ts'
import type { RolledBackSource } from './rollback-request.ts'
import { rollbackRequest } from './rollback-request.ts'

export const rollback: Command = {
  name: 'rollback',
  summary: 'Serve an earlier generation or commit again',
  operands: { text: 'GENERATION | SOURCE COMMIT', most: 2, offers: ['sources', []] },
  details: `
  GENERATION is a number of skillsyncd log. COMMIT is a full commit id; the first digits are enough for a stored commit.
`,
  examples: ['skillsyncd rollback 41', 'skillsyncd rollback team 4f2c81d --hold'],
  options: {
    hold: {
      type: 'boolean',
      help: 'stay there until skillsyncd resume; without it, only the commit that was left is skipped, and the next one is served',
    },
  },
  async run(context) {
    const { operands, values } = context
    const config = await configFor(context)
    if (operands.length === 0) {
      printLines(context, linesOfMoments(await momentsOf(config, SHOWN_MOMENTS), context))
      throw new UsageError('"rollback" wants the number of a generation, or a source and a commit')
    }
    const [id] = operands.length === 2 ? sourcesNamed(operands.slice(0, 1), config) : []
    const target = id === undefined ? { generation: numberOf(operands[0]) } : { source: id, commit: commitOf(operands) }
    const hold = values['hold'] === true
    print(context, await withWriter(context, config, async (ask) => ask(rollbackRequest, { ...target, hold })))
    return 0
  },
}

function numberOf(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`"${text}" is not a number of a generation; to roll one source back, name its commit too`)
}

function commitOf([, commit]: readonly string[]): string | undefined {
  return commitNamed(commit)
}

function print(context: Context, done: readonly RolledBackSource[]): void {
  if (context.json) {
    const sources = done.map(({ source, from, to, decision }) => ({
      source,
      from: from?.commit,
      to: to.commit,
      ref: to.ref,
      held: decision.frozen !== undefined,
      skipped: decision.skipped?.commit,
    }))
    printJson(context, { sources })
    return
  }
  const lines = done.flatMap((one) => [
    `${one.source}: ${one.from?.commit ?? 'nothing'} -> ${one.to.commit} (${printableLine(one.to.ref)})`,
    `  ${nextOf(one)}`,
  ])
  printLines(context, lines)
}

/** The automatic next step of the source, as text. */
function nextOf({ source, decision: { paused, frozen, skipped } }: RolledBackSource): string {
  if (frozen !== undefined) return `held until skillsyncd resume ${source}`
  if (paused === true) return `not polled until skillsyncd resume ${source}`
  if (skipped === undefined) return 'its ref is followed as before'
  return `the commit after ${skipped.commit} is served without a decision; skillsyncd resume ${source} serves that one again`
}
