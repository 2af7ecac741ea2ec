import { mismatchesWith } from '../../../sync/model/decisions/lock.ts'
import type { LockEntry } from '../../../sync/model/decisions/lock.ts'
import type { Revision } from '../../../sync/model/revision.ts'
import type { Source } from '../../../sync/model/source.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Context, ExitStatus } from '../../cli/command.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { failureIn, readRevision } from '../../cli/store-reader.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import { configuredIn, idsOf } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { lockFileOf, lockStateOf } from '../../pull/trust/lock-rules.ts'
import type { LockStanding } from '../../pull/trust/lock-rules.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isFollowed, lockStandingText } from '../../status/lock-text.ts'

/** Prints how the lock, the configuration and what upstream has now differ. The status is 3 if they do. */
export async function printUpstream(context: Context, config: ServedConfig): Promise<ExitStatus> {
  const file = lockFileOf(config)
  const sources = sourcesNamed(context.operands, config).map((id) => configuredIn(config, id).source)
  const lock = await readLock(file)
  const entries = lock?.sources ?? new Map<string, LockEntry>()
  const mode = (await agreeWithDaemon(config, context.signal)) ?? config.mode
  using store = await Store.openExisting(config.state)
  const decisions = await store?.decisions.read()
  const running = { ...config, mode }
  const told: Standing[] = await withWriter(context, config, (ask) =>
    Promise.all(
      sources.map(async (source) => {
        const standing = await standingOf(source, entries.get(source.id), ask)
        return Object.assign(standing, { lock: lockStateOf(lock, running, source, decisions?.get(source.id)) })
      }),
    ),
  )
  const known = new Set<string>(idsOf(config))
  const extra = context.operands.length > 0 ? [] : [...entries.keys()].filter((id) => !known.has(id))
  for (const source of extra) told.push({ source, state: 'extra' })
  if (context.json) printJson(context, { lock: file, use: config.lockUse, sources: told })
  else printLines(context, told.flatMap(linesOf))
  return statusOf(told)
}

/** The state of the lock compared with the configuration and upstream, for one source. */
interface Standing {
  readonly source: string
  /** `differs`: the entry is for another configuration. `extra`: it is for no configured source. */
  readonly state: 'current' | 'moved' | 'tag-moved' | 'differs' | 'missing' | 'extra' | 'failed'
  /** The use of the lock; absent for a source that is not configured. */
  readonly lock?: LockStanding
  readonly locked?: Place
  readonly upstream?: Place
  readonly differences?: readonly string[]
  readonly problem?: SourceFailure
}

type Place = Pick<Revision, 'ref' | 'commit' | 'tag'>

async function standingOf(source: Source, entry: LockEntry | undefined, ask: AskWriter): Promise<Standing> {
  const found = await foundOf(source, ask)
  const differences = entry === undefined ? [] : mismatchesWith(entry, source).map(({ message }) => message)
  const told = {
    source: source.id,
    ...(entry !== undefined && { locked: placeOf(entry.revision) }),
    ...(differences.length > 0 && { differences }),
  }
  if ('message' in found) return { ...told, state: 'failed', problem: found }
  return { ...told, state: standingStateOf(entry, differences, found), upstream: placeOf(found) }
}

async function foundOf(source: Source, ask: AskWriter): Promise<Revision | SourceFailure> {
  try {
    return await readRevision(ask, source)
  } catch (error) {
    return failureIn(error)
  }
}

function standingStateOf(
  entry: LockEntry | undefined,
  differences: readonly string[],
  found: Revision,
): Standing['state'] {
  if (entry === undefined) return 'missing'
  if (differences.length > 0) return 'differs'
  const locked = entry.revision
  const isSameRef = locked.ref === found.ref
  // A branch that was renamed, or a commit that was locked by its id, has not moved.
  if (locked.commit === found.commit && (!isSameRef || locked.tag === found.tag)) return 'current'
  return isSameRef && found.ref.startsWith('refs/tags/') ? 'tag-moved' : 'moved'
}

function placeOf({ ref, commit, tag }: Revision): Place {
  return { ref, commit, ...(tag !== undefined && { tag }) }
}

function statusOf(standings: readonly Standing[]): ExitStatus {
  if (standings.some(({ state }) => state === 'failed')) return 1
  return standings.some(({ state }) => state !== 'current') ? 3 : 0
}

function linesOf(standing: Standing): string[] {
  const { lock } = standing
  const isTold = lock === undefined || isFollowed(lock) || lock.state === 'absent' || lock.state === 'missing'
  const text = isTold ? undefined : lockStandingText(lock)
  return [...stateLines(standing), ...(text === undefined ? [] : [`  lock: ${text}`])]
}

function stateLines({ source, state, locked, upstream, differences = [], problem }: Standing): string[] {
  const more = differences.map((message) => `  ${printableLine(message)}`)
  switch (state) {
    case 'current':
      return [`${source}: up to date, ${textOf(locked)}; upstream has ${upstream?.commit}`]
    case 'moved':
      return [`${source}: locked ${textOf(locked)}; upstream has ${textOf(upstream)}`]
    case 'tag-moved':
      return [`${source}: the tag was moved: locked ${textOf(locked)}; upstream has ${textOf(upstream)}`]
    case 'differs':
      return [
        `${source}: locked for another configuration, ${textOf(locked)}; upstream has ${textOf(upstream)}`,
        ...more,
      ]
    case 'missing':
      return [`${source}: is not in the lock; upstream has ${textOf(upstream)}`]
    case 'extra':
      return [`${source}: is in the lock and not in the configuration; skillsyncd lock --prune removes it`]
    case 'failed':
      return [`${source}: not known (${problem?.code}): ${printableLine(problem?.message ?? '')}`, ...more]
    default:
      return state satisfies never
  }
}

function textOf(place: Place | undefined): string {
  if (place === undefined) return ''
  const { ref, commit, tag } = place
  return `${printableLine(ref)} at ${commit}${tag === undefined ? '' : ` (tag object ${tag})`}`
}
