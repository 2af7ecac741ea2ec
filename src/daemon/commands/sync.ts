import type { SourceId } from '../../sync/model/source-id.ts'
import { isByChoice, isSyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Config } from '../config.ts'
import { printable } from '../log-line.ts'
import { createProgress } from '../progress.ts'
import { sourcesOf } from '../requests.ts'
import { SYNC_END } from '../sync-end.ts'
import type { SyncEnd } from '../sync-end.ts'
import { withWriter } from './asking.ts'
import { MODE_DETAILS, MODE_OPTIONS, configOf, printJson, printLines } from './command.ts'
import type { Command, Context, ExitStatus } from './command.ts'

export const sync: Command = {
  name: 'sync',
  summary: 'Pull now: by the running daemon, or without one',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY },
  details: MODE_DETAILS,
  options: MODE_OPTIONS,
  async run(context) {
    const config = await configOf(context)
    const ids = sourcesOf(context.operands, config)
    const ends = await pulled(context, config, ids)
    if (context.json) printJson(context, { sources: ends })
    else printLines(context, ends.flatMap(syncLines))
    return syncStatus(ends)
  },
}

/** How it ended for each of the sources, in their order. Where it has got to is shown meanwhile. */
async function pulled(context: Context, config: Config, ids: readonly SourceId[]): Promise<SyncEnd[]> {
  using progress = createProgress({ stream: context.streams.stderr, quiet: context.quiet })
  const ends: SyncEnd[] = []
  const onEnd = (end: SyncEnd): void => {
    ends.push(end)
    progress.show(`${ends.length} of ${ids.length} sources: ${end.source} ${end.outcome}`)
  }
  progress.show(`pulling ${ids.length} of ${config.sources.length} sources`)
  const end = (event: unknown): void => onEnd(SYNC_END.parse(event))
  await withWriter(context, config, (ask) => ask('sync', { sources: ids }, end))
  return ids.flatMap((id) => ends.filter(({ source }) => source === id))
}

/** Pulls that failed outweigh those that wait for a person; what somebody decided earlier is no finding. */
export function syncStatus(ends: readonly SyncEnd[]): ExitStatus {
  if (ends.some(({ outcome }) => outcome === 'failed')) return 1
  const isFound = ({ code }: SyncEnd): boolean => code !== undefined && isSyncErrorCode(code) && !isByChoice(code)
  return ends.some(isFound) ? 3 : 0
}

/** For people: how it ended, and why where that is not what was wanted. */
export function syncLines(end: SyncEnd): string[] {
  const { source, outcome, ref, commit, skills, code, message, mend } = end
  const why = code === undefined ? [] : [`${source}: ${outcome} (${code}): ${printable(message ?? '')}`, `  ${mend}`]
  if (outcome === 'failed' || outcome === 'held') return why
  if (commit === undefined) return [`${source}: unchanged, and nobody was asked`]
  const at = `${printable(ref ?? '')} at ${commit?.slice(0, 12)}`
  if (skills === undefined) return code === undefined ? [`${source}: unchanged, ${at}`] : why
  const { seen, clean, noted, tools, withheld } = skills
  const served = `${clean + noted} of ${seen} skills served (${noted} with a note), ${tools} for tools only, ${withheld} withheld`
  return [`${source}: updated, ${at}: ${served}`, ...why]
}
