import { systemClock } from '../../../base/async/clock.ts'
import { agoText } from '../../../base/text/age-text.ts'
import type { Decided } from '../../../sync/model/decisions/decided.ts'
import { unlessSyncError } from '../../../sync/model/sync-error.ts'
import { Store } from '../../../sync/store/store.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { linesOfChanges } from '../../status/changes/change-lines.ts'
import { historyOf } from '../../status/changes/history.ts'
import type { StoredGeneration, SourceMove } from '../../status/changes/history.ts'
import { decidedText } from '../../status/decision-text.ts'

/** As many as a person reads at a time. */
export const SHOWN_MOMENTS = 20

export const log: Command = {
  name: 'log',
  details: `
  The newest comes first. A generation is the whole of what was served between two changes. Its names are kept for 90
  days, as are decisions of people, of scans and of followed hubs; its contents as long as retention says.
`,
  examples: ['skillsyncd log', 'skillsyncd log -n 50'],
  options: {
    number: { type: 'string', short: 'n', value: 'N', help: `show the newest N of each; default: ${SHOWN_MOMENTS}` },
  },
  async run(context) {
    const most = mostOf(context)
    const config = await configInUse(context)
    await agreeWithDaemon(config, context.signal)
    const history = await historyIn(config, most)
    const { moments, decided } = history
    if (context.json) printJson(context, { generations: moments.map(rowOf), decisions: decided ?? null })
    else printLines(context, linesOf(history, context))
    return 0
  },
}

function mostOf({ values }: Context): number {
  const asked = values['number']
  if (typeof asked !== 'string') return SHOWN_MOMENTS
  if (!/^[1-9]\d{0,5}$/.test(asked)) throw new UsageError('-n is a number of generations, 1 or more')
  return Number(asked)
}

interface History {
  readonly moments: readonly StoredGeneration[]
  /** Newest first; `undefined` if they cannot be read. */
  readonly decided: readonly Decided[] | undefined
}

/** Empty if the state folder has not been written yet. */
export async function historyIn(config: Config, most: number): Promise<History> {
  using store = await Store.openExisting(config.state)
  if (store === undefined) return { moments: [], decided: [] }
  const moments = await historyOf(store, most)
  try {
    await store.decisions.read()
  } catch (error) {
    unlessSyncError(error)
    return { moments, decided: undefined }
  }
  const decided = store.decisions.history.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
  return { moments, decided: decided.slice(0, most) }
}

/** Both as lines of text, by their times. */
function linesOf({ moments, decided }: History, { streams }: Context): string[] {
  const now = nowFor(streams)
  const shown = moments.map((moment) => ({ at: moment.createdAt, lines: linesOfMoment(moment, now) }))
  const others = (decided ?? []).map((one) => ({
    at: one.at,
    lines: [`  -  ${timeText(one.at, now)}  ${decidedText(one)}`],
  }))
  const lines: string[] = decided === undefined ? ['! the decisions cannot be read; skillsyncd doctor says why'] : []
  for (const one of shown) {
    while (others[0] !== undefined && one.at !== undefined && others[0].at > one.at)
      lines.push(...(others.shift()?.lines ?? []))
    lines.push(...one.lines)
  }
  return [...lines, ...others.flatMap((one) => one.lines)]
}

function rowOf({ generation, createdAt, isServed, isKept, cause, damage, moves }: StoredGeneration) {
  const sources = moves?.map(({ skills: changes, ...move }) => ({ ...move, changes }))
  return { generation, createdAt, served: isServed, kept: isKept, cause, damage, sources }
}

/** The generations as lines of text: one about each, and one for each source that moved. A terminal gets ages too. */
export function linesOfMoments(moments: readonly StoredGeneration[], { streams }: Pick<Context, 'streams'>): string[] {
  return moments.flatMap((moment) => linesOfMoment(moment, nowFor(streams)))
}

function nowFor({ stdout }: Context['streams']): Date | undefined {
  return stdout.isTTY === true ? systemClock.now() : undefined
}

function linesOfMoment(moment: StoredGeneration, now: Date | undefined): string[] {
  const { generation, createdAt, isServed, isKept, damage, moves } = moment
  const mark = isServed ? '* ' : '  '
  const state = isServed ? '  (served)' : isKept ? '' : '  (names alone)'
  const lines = [`${mark}${generation}  ${timeText(createdAt, now)}  ${causeText(moment)}${state}`]
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
