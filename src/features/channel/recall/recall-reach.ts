import type { Config } from '../../../daemon/config/config.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { channelName, partOf } from '../publish/channel-names.ts'
import { sumOfReach } from '../publish/follower-reach.ts'
import type { FollowerReach, ReachRow } from '../publish/follower-reach.ts'
import type { ReachCounts, RecallCounts } from './follower-report.ts'

/** A place that has the channel, or what is served, and reports nothing. */
export interface UnreachablePlace {
  /** `token`: no follower with it was ever seen. `folder`: it is read without the hub. `branch`: clones of it exist. */
  readonly kind: 'token' | 'folder' | 'branch'
  readonly place: string
  readonly pack?: string
  readonly ring?: string
}

/** The report of a recall: the followers that obey, those that were not seen since, and what cannot be reached. */
export interface RecallReach {
  readonly counts: ReachCounts
  /** The same with all tiers below. */
  readonly total: ReachCounts
  readonly followers: readonly ReachRow[]
  readonly unreachable: readonly UnreachablePlace[]
  /** In a hub of several processes whose database was not read yet, or cannot be: the one that answers, for those it knows. */
  readonly process?: AnsweringProcess
}

/** The process of a hub that answers. */
export interface AnsweringProcess {
  readonly id: string
  /** The number of the other processes that lived when the database could be used last. */
  readonly others: number
}

/** The process that answers; `undefined` if it knows the followers of the whole hub. */
export function answeringProcess(
  replica: DaemonContext['replica'],
  reach: FollowerReach,
): AnsweringProcess | undefined {
  if (replica === undefined || reach.isWhole) return undefined
  const { id, processes } = replica.status
  return { id, others: processes.filter((one) => one.isLiving && one.id !== id).length }
}

/** The parts that know the followers of this hub. */
export interface ReachSources {
  readonly reach: FollowerReach
  readonly config: Config
  readonly tokens: { principalsWith(scope: 'channel'): readonly string[] }
}

/** Collects the report of one recall. */
export function recallReach(recall: string, sources: ReachSources): RecallReach {
  const followers = sources.reach.followersOf(recall)
  const unreachable = unreachablePlaces(sources)
  const obeyed = followers.filter(({ state }) => state === 'obeyed').length
  const counts = { obeyed, behind: followers.length - obeyed, unreachable: unreachable.length }
  return { counts, total: sumOfReach([counts, ...followers.map(({ below }) => below)]), followers, unreachable }
}

/** The counts that this machine reports to its own hub; none if it has no followers. */
export function countsFor(recalls: readonly string[], sources: ReachSources): readonly RecallCounts[] {
  if (!sources.reach.isAny && unreachablePlaces(sources).length === 0) return []
  return recalls.map((recall) => ({ recall, ...recallReach(recall, sources).total }))
}

function unreachablePlaces({ reach, config, tokens }: ReachSources): readonly UnreachablePlace[] {
  const { principals } = reach
  const silent =
    config.channel === undefined ? [] : tokens.principalsWith('channel').filter((id) => !principals.has(id))
  return [
    ...silent.map((place) => ({ kind: 'token' as const, place })),
    ...config.channelFolders.map((folder) => ({
      kind: 'folder' as const,
      place: folder.to,
      ...partOf(channelName(folder)),
    })),
    ...config.publications.map(({ url, branch }) => ({ kind: 'branch' as const, place: `${url} ${branch}` })),
  ]
}
