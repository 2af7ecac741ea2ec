import type { z } from 'zod'
import { countOf } from '../../base/text/plural.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isByChoice, isSyncErrorCode } from '../../sync/model/sync-error.ts'
import { tallyText } from '../../sync/model/verdict/verdict.ts'
import { syncRequest } from '../control/sync-request.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { linesOfChanges } from '../status/changes/change-lines.ts'
import { isFollowed } from '../status/lock-text.ts'
import type { FETCHING, SyncEnd } from '../status/pull-result.ts'
import { progressOf } from './command.ts'
import type { Context, ExitStatus } from './command.ts'
import type { AskWriter } from './daemon-client.ts'

/** The outcome of each source, in their order, and the problems between skills that involve them. */
export interface Pulled {
  readonly ends: readonly SyncEnd[]
  readonly problems: readonly PulledProblem[]
}

/** Pulls these sources now, and shows the progress meanwhile. */
export async function pullWithProgress(context: Context, ids: readonly SourceId[], ask: AskWriter): Promise<Pulled> {
  if (ids.length === 0) return { ends: [], problems: [] }
  using progress = progressOf(context)
  const ends: SyncEnd[] = []
  progress.count(0, ids.length, `pulling ${ids.length === 1 ? ids[0] : countOf(ids.length, 'source')}`)
  const { problems } = await ask(syncRequest, { sources: ids }, (end) => {
    if ('fetching' in end) {
      progress.countOften(ends.length, ids.length, `fetching ${fetchedText(end.fetching)}`)
      return
    }
    ends.push(end)
    const text = `${ends.length} of ${countOf(ids.length, 'source')}: ${end.source} ${end.outcome}`
    progress.count(ends.length, ids.length, text)
  })
  return { ends: ids.flatMap((id) => ends.filter(({ source }) => source === id)), problems }
}

/** Pulls one source now. `undefined` if the daemon stopped it without an outcome. */
export async function pullOneSource(id: string, ask: AskWriter): Promise<SyncEnd | undefined> {
  let end: SyncEnd | undefined
  await ask(syncRequest, { sources: [id] }, (event) => {
    if (!('fetching' in event)) end = event
  })
  return end
}

/** The progress of one source: what has arrived, in files or bytes. */
function fetchedText({ source, files, bytes }: z.infer<typeof FETCHING>): string {
  const received = bytes === 0 ? [] : [`${(bytes / 2 ** 20).toFixed(1)} MiB received`]
  const stored = files === 0 ? [] : [`${countOf(files, 'file')} stored`]
  return [source, ...received, ...stored].join(', ')
}

type PulledProblem = z.output<typeof syncRequest.answer>['problems'][number]

/** Failed pulls outweigh those that wait for the operator. An earlier decision of the operator is not a finding. */
export function exitOfPulls(ends: readonly SyncEnd[]): ExitStatus {
  if (ends.some(({ outcome }) => outcome === 'failed')) return 1
  const isFound = ({ problem }: SyncEnd): boolean =>
    problem !== undefined && isSyncErrorCode(problem.code) && !isByChoice(problem.code)
  return ends.some(isFound) ? 3 : 0
}

/** The served commit, and the upstream commit if it differs. */
function placeText({ ref, commit, upstream, lock }: SyncEnd): string {
  const isLocked = lock !== undefined && isFollowed(lock) && lock.commit === commit
  const at = commit === undefined ? 'nothing is served' : `${printableLine(ref ?? '')} at ${commit.slice(0, 12)}`
  const served = isLocked ? `${at} (locked)` : at
  if (upstream?.commit === commit || ref === commit) return served
  return upstream === undefined
    ? `${served}; upstream was not queried`
    : `${served}; upstream is at ${upstream.commit.slice(0, 12)}`
}

/** The problems between skills as lines of text. */
export function linesOfProblems(problems: readonly PulledProblem[]): string[] {
  return problems.map(({ code, message }) => `! ${code}: ${printableLine(message)}`)
}

/** The outcome of one pull as lines of text. */
export function linesOfPull(end: SyncEnd): string[] {
  const { source, outcome, tally, changes = [], problem } = end
  const { code, message = '', fix } = problem ?? {}
  const isStaying = outcome === 'waiting' && code !== undefined && isSyncErrorCode(code) && isByChoice(code)
  const ended = isStaying ? 'stays' : outcome
  const why = code === undefined ? [] : [`${source}: ${ended} (${code}): ${printableLine(message)}`, `  ${fix}`]
  if (outcome === 'failed' || outcome === 'waiting') return why
  const at = placeText(end)
  if (tally === undefined) return code === undefined ? [`${source}: unchanged, ${at}`] : why
  const waiting = tally.waiting === 0 ? [] : [`  ${tally.waiting} waiting for skillsyncd approve ${source}/`]
  const changed = linesOfChanges(changes).map((line) => `  ${line}`)
  return [`${source}: updated, ${at}: ${tallyText(tally)}`, ...changed, ...waiting, ...why]
}
