import { countOf } from '../../../base/text/plural.ts'
import { printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../../daemon/cli/command.ts'
import { printCsv } from '../../../daemon/cli/csv.ts'
import { withWriter } from '../../../daemon/cli/daemon-client.ts'
import type { Config } from '../../../daemon/config/config.ts'
import { printableLine } from '../../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../../daemon/runtime/usage-error.ts'
import { channelName } from '../publish/channel-names.ts'
import type { PublishedPart } from '../publish/channel-names.ts'
import type { ReachAnswer } from './recall-requests.ts'
import { recallReachRequest } from './recall-requests.ts'

/** Prints the reach of a recall. Ends with 3 if a follower is behind. */
export async function reportReach(context: Context, config: Config, id: string): Promise<ExitStatus> {
  if (context.operands.length > 0) throw new UsageError('--report goes with no skill and no digest')
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
