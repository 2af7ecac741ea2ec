import { Store } from '../../../sync/store/store.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { holdText } from '../../status/decision-text.ts'
import { commitNamed } from './commit-operand.ts'
import { SHOWN_MOMENTS, historyIn, linesOfMoments } from './log.ts'
import type { RolledBackSource } from './rollback-request.ts'
import { rollbackRequest } from './rollback-request.ts'

export const rollback: Command = {
  name: 'rollback',
  operands: { text: 'GENERATION | SOURCE COMMIT', most: 2, offers: ['sources', []] },
  details: `
  GENERATION is a number of skillsyncd log. COMMIT is a full commit id; the first digits are enough for a stored commit.
  The commit that is left is skipped, and the next one comes as ever, to be served or to wait for approval; skillsyncd
  hold SOURCE COMMIT stays at the earlier one.
`,
  examples: ['skillsyncd rollback 41', 'skillsyncd rollback team 4f2c81d'],
  async run(context) {
    const { operands } = context
    const config = await configInUse(context)
    if (operands.length === 0) {
      printLines(context, linesOfMoments((await historyIn(config, SHOWN_MOMENTS)).moments, context))
      throw new UsageError('"rollback" wants the number of a generation, or a source and a commit')
    }
    const [id] = operands.length === 2 ? sourcesNamed(operands.slice(0, 1), config) : []
    const target = id === undefined ? { generation: numberOf(operands[0]) } : { source: id, commit: commitOf(operands) }
    const done = await withWriter(context, config, async (ask) => ask(rollbackRequest, target))
    print(context, config, done, 'generation' in target ? await otherSources(config, target.generation) : [])
    return 0
  },
}

/** A source that is not as it was in a generation, whatever a rollback does. */
interface OtherSource {
  readonly source: string
  readonly message: string
}

/** The sources that the generation did not have and are served, and those that it had and that are not configured. */
async function otherSources(config: Config, number: number): Promise<readonly OtherSource[]> {
  using store = await Store.openExisting(config.state)
  const [then, now] = [await store?.generations.read(number), await store?.generations.current()]
  const [had, has] = [then, now].map((generation) => generation?.sources.map(({ source }) => source) ?? [])
  const ids = new Set(idsOf(config))
  return [
    ...(has ?? [])
      .filter((source) => had?.includes(source) === false)
      .map((source) => ({ source, message: `is served as before: generation ${number} did not have it` })),
    ...(had ?? [])
      .filter((source) => !ids.has(source))
      .map((source) => ({ source, message: `is not served: it is no source of the configuration any more` })),
  ]
}

function numberOf(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`"${text}" is not a number of a generation; to roll one source back, name its commit too`)
}

function commitOf([, commit]: readonly string[]): string | undefined {
  return commitNamed(commit)
}

function print(
  context: Context,
  config: Config,
  done: readonly RolledBackSource[],
  others: readonly OtherSource[],
): void {
  if (context.json) {
    const sources = done.map(({ source, from, to, decision }) => ({
      source,
      from: from?.commit,
      to: to.commit,
      ref: to.ref,
      held: decision.hold !== undefined,
      skipped: decision.skipped?.commit,
    }))
    printJson(context, { sources, ...(others.length > 0 && { others }) })
    return
  }
  const lines = done.flatMap((one) => [
    `${one.source}: ${one.from?.commit ?? 'nothing'} -> ${one.to.commit} (${printableLine(one.to.ref)})`,
    `  ${nextOf(one, config)}`,
  ])
  printLines(context, [...lines, ...others.map(({ source, message }) => `${source}: ${message}`)])
}

/** The automatic next step of the source, as text. */
function nextOf({ source, decision: { hold, skipped } }: RolledBackSource, { sources }: Config): string {
  if (hold !== undefined) return holdText(hold, source)
  if (skipped === undefined) return 'its ref is followed as before'
  if (sources.some((one) => one.source.id === source && one.source.update === 'review'))
    return `the commit after ${skipped.commit} waits for skillsyncd approve ${source}; skillsyncd release ${source} has that one wait again`
  return `the commit after ${skipped.commit} is served without a decision; skillsyncd release ${source} serves that one again`
}
