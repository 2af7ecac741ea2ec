import { channelName, partOf } from '../../../daemon/config/channel-names.ts'
import { followDisabled } from '../../../daemon/pull/load-decisions.ts'
import type { ServedCatalog } from '../../../daemon/pull/served-catalog.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import { Reaction } from '../../../daemon/runtime/reaction.ts'
import { disablementIn } from '../../../daemon/status/disablement.ts'
import type { Disablement } from '../../../daemon/status/disablement.ts'
import { byPerson, type Decider } from '../../../sync/model/decisions/decided.ts'
import { identityAt, recallIn } from '../../../sync/model/decisions/disabled-entries.ts'
import { activeRecalls, isRecall, type OutOfService } from '../../../sync/model/decisions/out-of-service.ts'
import { MOST_RECALLS } from '../../../sync/model/decisions/published-recall.ts'
import {
  isOwn,
  newRecall,
  recalledContents,
  withRecall,
  withRevoked,
} from '../../../sync/model/decisions/recalled-skills.ts'
import type { RecallRule } from '../../../sync/model/decisions/rules.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { parseVerifier } from '../../../sync/transparency-log/signed-note.ts'
import type { ChannelHubConfig } from '../channel-config.ts'
import type { FollowerReach, ReachRow } from '../publish/follower-reach.ts'
import { sumOfReach } from '../publish/follower-reach.ts'
import type { ReachCounts, RecallCounts } from './follower-report.ts'
import { toldRecall, type ToldRecall } from './recall-requests.ts'

/** The configuration, with the places that a recall does not reach by itself. */
type RecalledPlaces = ChannelHubConfig & {
  readonly publications: readonly { readonly url: string; readonly branch: string }[]
}

/** The parts that make recalls effective: what is recalled leaves the catalog in `sync/pull/generation-catalog.ts`. */
export interface RecallsParts extends Pick<DaemonContext, 'store' | 'clock' | 'log' | 'replica'> {
  readonly config: RecalledPlaces
  readonly served: ServedCatalog
  readonly channels: { readonly reach: FollowerReach; followRecalls(): void }
  readonly tokens: ReachSources['tokens']
}

/** The content that an operator recalls: a skill that is here, or any digest. */
export type RecalledContent =
  | { readonly kind: 'skill'; readonly source: SourceId; readonly path: string }
  | { readonly kind: 'digest'; readonly digest: string }

/** The effect of a recall, or of its end. */
export interface RecallEnd extends Pick<Disablement, 'isNew' | 'count' | 'places'> {
  readonly recall: ToldRecall
}

/** Recalls: those that an operator makes and ends here, and those of the hubs that are followed. */
export class Recalls implements AsyncDisposable {
  readonly #parts: RecallsParts
  readonly #reporting: Reaction
  #pull: (source: SourceId) => void = () => {}

  constructor(parts: RecallsParts) {
    this.#parts = parts
    this.#reporting = new Reaction({ clock: parts.clock, run: async () => this.#report() })
  }

  /**
   * Takes a content out of service at once, here and at the followers of the channels. It need not be here. The recall is
   * on the disk first: a client that was notified must not find the skill again after a kill.
   */
  async recall(content: RecalledContent, reason: string, by: string): Promise<RecallEnd> {
    const { store, clock } = this.#parts
    const decider = byPerson(by, clock.now())
    const made = this.#made(content, reason, decider)
    const known = activeRecalls(store.decisions.outOfService).find(
      (recall) => isOwn(recall) && made.on.contents.every((digest) => recall.on.contents.includes(digest)),
    )
    if (known !== undefined) return { recall: toldRecall(known), isNew: false, count: 0, places: [] }
    const before = store.decisions.outOfService
    const about = content.kind === 'skill' ? { source: content.source, skill: content.path } : { skill: content.digest }
    const decided = { ...decider, decision: 'disable', ...about, forFollowers: true, reason } as const
    if (!(await store.decisions.changeOut((out) => withRecall(out, made) ?? out, decided)))
      throw new OperatorError(
        'bad-request',
        `Cannot recall: there are ${MOST_RECALLS} recalls in force; end some with skillsyncd enable ID`,
      )
    this.#parts.log.warn('skill-recalled', { recall: made.id, ...labelOf(content), reason })
    return { recall: toldRecall(made), isNew: true, ...(await this.#serve(before)) }
  }

  #made(content: RecalledContent, reason: string, decider: Decider): RecallRule {
    const { snapshots } = this
    if (content.kind === 'digest') return recallIn(newRecall([content.digest], reason, decider), snapshots)
    const { source, path } = content
    // A ring may serve another version of the skill, and so may the followers.
    const contents = snapshots
      .filter((snapshot) => snapshot.source === source)
      .flatMap((snapshot) => {
        const [place] = identityAt(source, path, [snapshot]).places
        return recalledContents(path, snapshot, place?.document)
      })
    if (contents.length === 0)
      throw new OperatorError(
        'unknown-skill',
        `Cannot recall "${source}/${path}": no content of it is served here; recall its digest, which a lock and skillsyncd why have`,
      )
    const recall = newRecall(contents, reason, decider)
    const { places, beside } = identityAt(source, path, snapshots)
    return recallIn({ ...recall, on: { ...recall.on, places, beside } }, snapshots)
  }

  /** Ends a recall that was made here, or that no followed hub has in force. `id`: enough of its first digits. */
  async revoke(id: string, by: string): Promise<RecallEnd> {
    const { store, clock, log } = this.#parts
    const recall = recallOf(id, store.decisions.outOfService)
    const followed = recall.via.find((one) => this.#followedLogs.has(one))
    if (!isOwn(recall) && recall.ended === undefined && followed !== undefined)
      throw new OperatorError(
        'bad-request',
        `Cannot end the recall ${recall.id}: it is in force at "${followed}", which this daemon follows; end it there`,
      )
    const before = store.decisions.outOfService
    const [place] = recall.on.places
    const about = { source: place?.source, skill: place?.path ?? recall.on.contents[0] }
    const forFollowers = isOwn(recall) ? true : undefined
    const decider = byPerson(by, clock.now())
    const decided = { ...decider, decision: 'enable', ...about, forFollowers } as const
    const isNew = await store.decisions.changeOut((out) => withRevoked(out, recall.id, decider.at), decided)
    if (isNew) log.warn('recall-revoked', { recall: recall.id })
    const places = await this.#serve(before)
    return { recall: toldRecall(recallOf(recall.id, store.decisions.outOfService)), isNew, ...places }
  }

  /** Serves what the recalls of another hub leave, once they are on the disk. */
  async obeyed(log: string, recalls: readonly RecallRule[]): Promise<void> {
    for (const { id, reason } of recalls)
      this.#parts.log.warn('recall-obeyed', { recall: id, log, ...(reason !== undefined && { reason }) })
    await this.#serve(this.#parts.store.decisions.outOfService)
  }

  /** Names the skills that went out of service or came back since. */
  async #serve(before: OutOfService): Promise<Pick<Disablement, 'count' | 'places'>> {
    const { store, served, channels } = this.#parts
    const { snapshots } = this
    await followDisabled(snapshots, this.#parts)
    await served.serveInSlices()
    channels.followRecalls()
    return disablementIn(snapshots, before, store.decisions.outOfService)
  }

  /** The report of a recall. `id`: enough of its first digits. */
  reachOf(id: string): { readonly recall: RecallEnd['recall'] } & RecallReach {
    const recall = recallOf(id, this.#parts.store.decisions.outOfService)
    const process = answeringProcess(this.#parts.replica, this.#parts.channels.reach)
    return { recall: toldRecall(recall), ...recallReach(recall.id, this.#reachSources), ...(process && { process }) }
  }

  /** The number of recalls in force, and how many followers obey all of them. */
  get figures(): {
    readonly inForce: number
    readonly followers: { readonly obeyed: number; readonly behind: number }
  } {
    const recalls = activeRecalls(this.#parts.store.decisions.outOfService)
    const { reach } = this.#parts.channels
    return { inForce: recalls.length, followers: reach.followersOfAll(recalls.map(({ id }) => id)) }
  }

  /** The reports of the followers of this machine about the recalls of other hubs. */
  below(): readonly RecallCounts[] {
    const others = activeRecalls(this.#parts.store.decisions.outOfService).filter((recall) => !isOwn(recall))
    return countsFor(
      others.slice(-MOST_RECALLS).map(({ id }) => id),
      this.#reachSources,
    )
  }

  /** Has the hubs pulled soon, which sends them the reports of the followers here: once for all changes of some seconds. */
  reportSoon(pull: (source: SourceId) => void): void {
    const { config, replica } = this.#parts
    // The process that leads knows the followers of all, and pulls for all.
    if (replica?.isLeading === false) return
    const hasHub = config.sources.some(({ source }) => source.kind === 'channel')
    if (!hasHub || this.#reporting.isDue || this.below().length === 0) return
    this.#pull = pull
    this.#reporting.runAfter(REPORTED_AFTER_MS)
  }

  #report(): void {
    for (const { source } of this.#parts.config.sources) if (source.kind === 'channel') this.#pull(source.id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reporting[Symbol.asyncDispose]()
  }

  get #reachSources(): ReachSources {
    const { channels, config, tokens } = this.#parts
    return { reach: channels.reach, config, tokens }
  }

  /** The content of the first ring, then what only later rings serve. */
  get snapshots(): readonly Snapshot[] {
    const { current, currentInRings } = this.#parts.served
    return [...current, ...currentInRings].map(({ snapshot }) => snapshot)
  }

  get #followedLogs(): ReadonlySet<string> {
    const { sources, follow } = this.#parts.config
    const keys = [...sources, ...(follow === undefined ? [] : [follow])].flatMap(({ source }) =>
      source.kind === 'channel' ? source.keys : [],
    )
    return new Set(keys.flatMap((key) => parseVerifier(key)?.name ?? []))
  }
}

/** Followers of a hub report at about the same time. */
const REPORTED_AFTER_MS = 2_000

function labelOf(content: RecalledContent): Readonly<Record<string, string>> {
  return content.kind === 'skill' ? { source: content.source, skill: content.path } : { digest: content.digest }
}

/** The recall whose id begins with these digits. Throws if there is none, or several. */
function recallOf(digits: string, out: OutOfService): RecallRule {
  const [recall, ...others] = /^[\da-f]{8,64}$/.test(digits)
    ? out.filter(isRecall).filter(({ id }) => id.startsWith(digits))
    : []
  if (recall !== undefined && others.length === 0) return recall
  const why = recall === undefined ? 'no recall' : 'more than one recall'
  throw new OperatorError(
    'unknown-recall',
    `${why} has an id that begins with "${digits}", of which 8 digits are needed; skillsyncd disable --followers shows them`,
  )
}

/** A place that has the channel, or what is served, and reports nothing. */
interface UnreachablePlace {
  /** `token`: no follower with it was ever seen. `folder`: it is read without the hub. `branch`: clones of it exist. */
  readonly kind: 'token' | 'folder' | 'branch'
  readonly place: string
  readonly pack?: string
  readonly ring?: string
}

/** The report of a recall: the followers that obey, those that were not seen since, and what cannot be reached. */
interface RecallReach {
  readonly counts: ReachCounts
  /** The same with all tiers below. */
  readonly total: ReachCounts
  readonly followers: readonly ReachRow[]
  readonly unreachable: readonly UnreachablePlace[]
  /** In a hub of several processes whose database was not read yet, or cannot be: the one that answers, for those it knows. */
  readonly process?: AnsweringProcess
}

/** The process of a hub that answers. */
interface AnsweringProcess {
  readonly id: string
  /** The number of the other processes that lived when the database could be used last. */
  readonly others: number
}

/** The process that answers; `undefined` if it knows the followers of the whole hub. */
function answeringProcess(replica: DaemonContext['replica'], reach: FollowerReach): AnsweringProcess | undefined {
  if (replica === undefined || reach.isWhole) return undefined
  const { id, processes } = replica.status
  return { id, others: processes.filter((one) => one.isLiving && one.id !== id).length }
}

/** The parts that know the followers of this hub. */
interface ReachSources {
  readonly reach: FollowerReach
  readonly config: RecalledPlaces
  readonly tokens: { principalsWith(scope: 'channel'): readonly string[] }
}

/** Collects the report of one recall. */
function recallReach(recall: string, sources: ReachSources): RecallReach {
  const followers = sources.reach.followersOf(recall)
  const unreachable = unreachablePlaces(sources)
  const obeyed = followers.filter(({ state }) => state === 'obeyed').length
  const counts = { obeyed, behind: followers.length - obeyed, unreachable: unreachable.length }
  return { counts, total: sumOfReach([counts, ...followers.map(({ below }) => below)]), followers, unreachable }
}

/** The counts that this machine reports to its own hub; none if it has no followers. */
function countsFor(recalls: readonly string[], sources: ReachSources): readonly RecallCounts[] {
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
