import { systemClock } from '../../../base/async/clock.ts'
import { agoText } from '../../../base/text/age-text.ts'
import { Store } from '../../../sync/store/store.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { linesOfChanges } from '../../status/changes/change-lines.ts'
import { historyOf } from '../../status/changes/history.ts'
import type { StoredGeneration, SourceMove } from '../../status/changes/history.ts'

/** As many as a person reads at a time. */
export const SHOWN_MOMENTS = 20

export const log: Command = {
  name: 'log',
  summary: 'Show the generations: what changed, and why',
  details: `
  The newest one comes first. A generation is the whole of what was served between two changes.
`,
  examples: ['skillsyncd log', 'skillsyncd log -n 50'],
  options: {
    number: { type: 'string', short: 'n', value: 'N', help: `show the newest N; default: ${SHOWN_MOMENTS}` },
  },
  async run(context) {
    const most = mostOf(context)
    const config = await configFor(context)
    await agreeWithDaemon(config, context.signal)
    const moments = await momentsOf(config, most)
    if (context.json) printJson(context, { generations: moments.map(rowOf) })
    else printLines(context, linesOfMoments(moments, context))
    return 0
  },
}

function mostOf({ values }: Context): number {
  const asked = values['number']
  if (typeof asked !== 'string') return SHOWN_MOMENTS
  if (!/^[1-9]\d{0,5}$/.test(asked)) throw new UsageError('-n is a number of generations, 1 or more')
  return Number(asked)
}

/** Empty if the state folder has not been written yet. */
export async function momentsOf(config: Config, most: number): Promise<StoredGeneration[]> {
  using store = await Store.openExisting(config.state)
  return store === undefined ? [] : await historyOf(store, most)
}

function rowOf({ generation, createdAt, isServed, cause, damage, moves }: StoredGeneration) {
  return { generation, createdAt, served: isServed, cause, damage, sources: moves }
}

/** The generations as lines of text: one about each, and one for each source that moved. A terminal gets ages too. */
export function linesOfMoments(moments: readonly StoredGeneration[], { streams }: Pick<Context, 'streams'>): string[] {
  const now = streams.stdout.isTTY === true ? systemClock.now() : undefined
  return moments.flatMap((moment) => linesOfMoment(moment, now))
}

function linesOfMoment(moment: StoredGeneration, now: Date | undefined): string[] {
  const { generation, createdAt, isServed, damage, moves } = moment
  const mark = isServed ? '* ' : '  '
  const lines = [
    `${mark}${generation}  ${timeText(createdAt, now)}  ${causeText(moment)}${isServed ? '  (served)' : ''}`,
  ]
  for (const what of damage) lines.push(`    ! ${printableLine(what)}`)
  if (moves === undefined) return [...lines, '    the earlier state is no longer known']
  return [
    ...lines,
    ...(moves.length === 0 ? ['    nothing moved'] : moves.flatMap(linesOfMove).map((line) => `    ${line}`)),
  ]
}

function timeText(createdAt: string | undefined, now: Date | undefined): string {
  if (createdAt === undefined) return 'time not known'
  return now === undefined ? createdAt : `${createdAt} (${agoText(createdAt, now)})`
}

function causeText({ cause }: StoredGeneration): string {
  if (cause === undefined) return 'cause not known'
  const { action, trigger, source, rewritten } = cause
  const about = source === undefined ? '' : ` of ${source}`
  return `${action}${about} by ${trigger}${rewritten === true ? ', history rewritten' : ''}`
}

function linesOfMove({ source, from, to, skills, docs }: SourceMove): string[] {
  const at = from === to ? `${from} as before` : `${from ?? 'nothing'} -> ${to ?? 'nothing'}`
  const changes = [...linesOfChanges(skills), ...(docs === undefined ? [] : [`${docs.padEnd(8)} the docs folder`])]
  if (changes.length === 0) return [`${source}  ${at}: no skill changed`]
  return [`${source}  ${at}`, ...changes.map((line) => `  ${line}`)]
}
