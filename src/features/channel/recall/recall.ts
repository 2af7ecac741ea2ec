import { countOf } from '../../../base/text/plural.ts'
import { printCsv } from '../../../daemon/cli/columns.ts'
import { printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Context, ExitStatus, Options } from '../../../daemon/cli/command.ts'
import { configInUse } from '../../../daemon/cli/config-in-use.ts'
import { withWriter } from '../../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../../daemon/cli/daemon-client.ts'
import { channelName } from '../../../daemon/config/channel-names.ts'
import type { PublishedPart } from '../../../daemon/config/channel-names.ts'
import { agreeWithDaemon } from '../../../daemon/control/running-daemon.ts'
import type { ServedConfig } from '../../../daemon/pull/trust/serving-policy.ts'
import { printableLine } from '../../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import { recalledText, recallReason } from '../../../daemon/status/decision-text.ts'
import { theOnlyIfAny, theOnlyOrFormer } from '../../../daemon/status/named-skill.ts'
import { readRows } from '../../../daemon/status/skill-rows.ts'
import { byAge, isRecall } from '../../../sync/model/decisions/out-of-service.ts'
import { isOwn } from '../../../sync/model/decisions/recalled-skills.ts'
import type { RecallRule } from '../../../sync/model/decisions/rules.ts'
import { digestText } from '../../../sync/model/digest.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import type { ReachAnswer, RecallAnswer } from './recall-requests.ts'
import { recallReachRequest, recallRequest, revokeRecallRequest, toldRecall } from './recall-requests.ts'

/** The options of `disable` for the followers of the channel. */
export const FOLLOWER_OPTIONS = {
  followers: { type: 'boolean', help: 'at all followers of the channel too' },
  report: { type: 'string', value: 'ID', help: 'show the followers that obey, and those that do not yet' },
  csv: { type: 'boolean', help: 'with --report: one line for each follower, as CSV' },
} as const satisfies Options

/** Runs `disable` for the followers of the channel; `undefined` if no option says so. */
export async function disableForFollowers(
  context: Context,
  reason: string | undefined,
): Promise<ExitStatus | undefined> {
  const { operands, values, json } = context
  const { followers, report, csv } = values
  if (csv === true && json) throw new UsageError('--csv and --json exclude each other')
  if (csv === true && report === undefined) throw new UsageError('--csv goes with --report')
  if (report === undefined && followers !== true) return undefined
  if (values['source-only'] === true) throw new UsageError('--source-only goes with neither --followers nor --report')
  const config = await configInUse(context)
  await agreeWithDaemon(config, context.signal)
  if (typeof report === 'string' && reason !== undefined) throw new UsageError('--reason does not go with --report')
  if (typeof report === 'string') return reportReach(context, config, report)
  if (operands.length === 0 && reason === undefined) return listRecalls(context, config)
  if (operands.length === 0) throw new UsageError('--reason goes with a skill or a digest')
  if (reason === undefined) throw new UsageError('--followers wants --reason TEXT, which is shown at the followers')
  return recallAll(context, config, reason)
}

/** Runs `enable` for the ids of recalls; `undefined` if other skills are named. */
export async function enableByIds(context: Context): Promise<ExitStatus | undefined> {
  const { operands } = context
  if (operands.length === 0 || !operands.every(isRecallId)) return undefined
  const config = await configInUse(context)
  const rows = await readRows(config)
  if (operands.some((asked) => theOnlyIfAny(rows, asked) !== undefined)) return undefined
  await agreeWithDaemon(config, context.signal)
  return endRecalls(context, config)
}

/** Ends a recall of this hub, and returns what comes back with it. */
export async function endRecall(ask: AskWriter, id: string): Promise<Pick<RecallAnswer, 'count' | 'places'>> {
  return ask(revokeRecallRequest, { id })
}

function isRecallId(asked: string): boolean {
  return /^[\da-f]{8,64}$/.test(asked)
}

async function recallAll(context: Context, config: ServedConfig, reason: string): Promise<ExitStatus> {
  const rows = await readRows(config)
  const namedBy = async (asked: string): Promise<{ digest: string } | { source: string; path: string }> => {
    const [, digest] = /^(?:sha256:)?([\da-f]{64})$/.exec(asked) ?? []
    if (digest !== undefined) return { digest }
    const { source, path } = await theOnlyOrFormer(rows, asked, config)
    return { source, path }
  }
  const contents = await Promise.all(context.operands.map(namedBy))
  const ends = await withWriter(context, config, async (ask) => {
    const done: RecallAnswer[] = []
    for (const content of contents) done.push(await ask(recallRequest, { ...content, reason }))
    return done
  })
  const locked = await lockedPlaces(config, ends)
  if (context.json) printJson(context, { recalls: ends.map(endJson), ...(locked.length > 0 && { locked }) })
  else printLines(context, [...ends.flatMap(recalledLines), ...locked.map(lockedLine)])
  return 0
}

function endJson({ recall: made, ...end }: RecallAnswer): object {
  return { recall: withDigests(made), ...end }
}

function withDigests<Told extends { readonly contents: readonly string[] }>(told: Told): Told {
  return { ...told, contents: told.contents.map(digestText) }
}

/** The recalled skills that the lock names. Their sources take nothing new until the lock lacks them. */
async function lockedPlaces(
  { lock, lockUse }: ServedConfig,
  ends: readonly RecallAnswer[],
): Promise<readonly LockedPlace[]> {
  const entries = lock === undefined || lockUse === 'ignore' ? undefined : (await readLock(lock))?.sources
  return [...(entries ?? [])].flatMap(([source, { skills }]) => {
    const places = new Set(ends.flatMap((end) => end.places.map(({ place }) => place)))
    const paths = [...skills.keys()].filter((path) => places.has(`${source}/${path}`))
    return paths.length === 0 ? [] : [{ source, paths }]
  })
}

interface LockedPlace {
  readonly source: string
  readonly paths: readonly string[]
}

function lockedLine({ source, paths }: LockedPlace): string {
  const globs = paths.slice(0, MOST_SHOWN).map((path) => JSON.stringify(path))
  const keys = `exclude: [${globs.join(', ')}${paths.length > globs.length ? ', …' : ''}]`
  return printableLine(
    `! ${source}: the lock names ${paths.length === 1 ? 'it' : 'them'}, so the source takes nothing new: write ${keys} into the source, then skillsyncd update ${source}`,
  )
}

async function endRecalls(context: Context, config: ServedConfig): Promise<ExitStatus> {
  const ends = await withWriter(context, config, async (ask) => {
    const done: RecallAnswer[] = []
    for (const id of context.operands) done.push(await ask(revokeRecallRequest, { id }))
    return done
  })
  if (context.json) printJson(context, { recalls: ends.map(endJson) })
  else
    printLines(
      context,
      ends.flatMap((end) => {
        const head = `${end.recall.id}: ${end.isNew ? 'ended' : 'had ended already'}`
        return [head].concat(placeLines(end, 'is in service again'))
      }),
    )
  return 0
}

async function listRecalls(context: Context, config: ServedConfig): Promise<ExitStatus> {
  const rows = byAge(await readRecalls(config))
  if (context.json) {
    const shown = rows.map((row) => ({
      ...withDigests(toldRecall(row)),
      isOwn: isOwn(row),
      via: row.via,
      places: row.on.places,
    }))
    printJson(context, { recalls: shown })
    return 0
  }
  printLines(
    context,
    rows.flatMap((row) => [
      `${row.id}: ${row.ended === undefined ? `recalled: ${recalledText(recallReason(row))}` : `ended ${row.ended}`}`,
      ...row.on.places.slice(0, MOST_SHOWN).map(({ source, path }) => printableLine(`  ${source}/${path}`)),
    ]),
  )
  if (rows.length === 0 && !context.quiet) context.streams.stderr.write('nothing is recalled\n')
  return 0
}

async function readRecalls(config: ServedConfig): Promise<readonly RecallRule[]> {
  using store = await Store.openExisting(config.state)
  await store?.decisions.read()
  return store?.decisions.outOfService.filter(isRecall) ?? []
}

function recalledLines(end: RecallAnswer): readonly string[] {
  const { recall: made, isNew } = end
  return [`${made.id}: ${isNew ? 'recalled' : 'already recalled'}`, ...placeLines(end, 'is out of service')]
}

function placeLines({ count, places }: RecallAnswer, what: string): readonly string[] {
  const lines = places.slice(0, MOST_SHOWN).map(({ place }) => printableLine(`  ${place} ${what}`))
  return count > lines.length ? [...lines, `  and ${countOf(count - lines.length, 'more skill')}`] : lines
}

const MOST_SHOWN = 10

/** Prints the reach of a recall. Ends with 3 if a follower is behind. */
async function reportReach(context: Context, config: ServedConfig, id: string): Promise<ExitStatus> {
  if (context.operands.length > 0 || context.values['followers'] === true)
    throw new UsageError('--report goes with no skill, no digest and no --followers')
  const report = await withWriter(context, config, async (ask) => ask(recallReachRequest, { id }))
  if (context.json) printJson(context, report)
  else if (context.values['csv'] === true) printCsv(context, recordsOf(report))
  else printLines(context, linesOf(report))
  return report.total.behind > 0 ? 3 : 0
}

function linesOf({ recall, counts, total, followers, unreachable, process }: ReachAnswer): readonly string[] {
  const isDeep = total.obeyed !== counts.obeyed || total.behind !== counts.behind
  return [
    `${recall.id}: ${countsText(counts)}`,
    ...(isDeep ? [`  with all tiers below: ${countsText(total)}`] : []),
    ...(process === undefined ? [] : [`  ${processText(process)}`]),
    ...followers.map(({ follower, state, seen, below, ...at }) =>
      printableLine(`  ${STATES[state]}  ${nameOf(at)}${follower.slice(0, 12)}, seen ${seen}${belowText(below)}`),
    ),
    ...moreThan(followers.length, counts.obeyed + counts.behind, 'follower'),
    ...unreachable.map(({ kind, place, ...part }) =>
      printableLine(`  cannot be reached  ${[`${kind} ${place}`, ...partNote(part)].join(' ')}`),
    ),
    ...moreThan(unreachable.length, counts.unreachable, 'place'),
  ]
}

/** An answer of the daemon has the first of many. */
function moreThan(shown: number, all: number, noun: string): readonly string[] {
  return all > shown ? [`  and ${countOf(all - shown, `more ${noun}`)}`] : []
}

function processText({ id, others }: NonNullable<ReachAnswer['process']>): string {
  const unknown =
    others === 0
      ? ''
      : `; those of ${others === 1 ? 'the other process' : `the ${others} other processes`} can be missing`
  return `the database cannot be read: the followers that process ${id.slice(0, 8)} knows${unknown}`
}

function countsText({ obeyed, behind, unreachable }: ReachAnswer['counts']): string {
  return `${obeyed} obeyed, ${behind} not seen since, ${unreachable} cannot be reached`
}

function nameOf({ principal, ...part }: PublishedPart & Pick<ReachAnswer['followers'][number], 'principal'>): string {
  return [...(principal === '' ? [] : [principal]), ...partNote(part)].map((word) => `${word} `).join('')
}

/** The channel, if it is not that of everything. */
function partNote({ pack, ring }: PublishedPart): readonly string[] {
  if (ring !== undefined) return [`(ring ${ring})`]
  return pack === undefined ? [] : [`(pack ${pack})`]
}

function belowText(below: ReachAnswer['counts']): string {
  return below.obeyed + below.behind + below.unreachable === 0 ? '' : `; below it ${countsText(below)}`
}

const STATES = { obeyed: 'obeyed', behind: 'not seen since' } as const

function recordsOf({ followers, unreachable }: ReachAnswer): readonly (readonly string[])[] {
  const heads = ['state', 'kind', 'name', 'follower', 'entries', 'seen', ...BELOW.map((count) => `below_${count}`)]
  const records = [
    ...followers.map(({ state, principal, follower, size, seen, below, ...part }) => {
      const name = withChannel(principal, part)
      return [state, 'follower', name, follower, `${size}`, seen, ...BELOW.map((count) => `${below[count]}`)]
    }),
    ...unreachable.map(({ kind, place, ...part }) => {
      const name = withChannel(place, part)
      return ['unreachable', kind, name, '', '', '', ...BELOW.map(() => '')]
    }),
  ]
  return [heads, ...records.map((record) => record.map(printableLine))]
}

function withChannel(name: string, part: PublishedPart): string {
  const channel = channelName(part)
  return channel === undefined ? name : `${name} ${channel}`
}

const BELOW = ['obeyed', 'behind', 'unreachable'] as const
