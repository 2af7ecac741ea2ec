import { countOf } from '../../base/text/plural.ts'
import type { Unready } from '../../serve/http/health.ts'
import type { Registry } from '../../serve/registry.ts'
import type { Item } from '../../sync/model/item.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { decidedIn, UNDECIDED_SKILLS } from '../../sync/model/verdict/skill-states.ts'
import type { LostSource } from '../../sync/pull/load-generation.ts'
import type { FollowedLock } from '../../sync/store/followed-lock.ts'
import { configuredIn } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import type { PullReport } from '../pull/pull-report.ts'
import type { PullActivity } from '../pull/schedule/pull-activity.ts'
import type { PullScheduler } from '../pull/schedule/pull-scheduler.ts'
import type { KnownLock } from '../pull/trust/known-lock.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { attentionTexts } from './items.ts'
import type { ItemsOf } from './items.ts'
import type { ChannelStatus, PublicationStatus } from './publication-status.ts'
import type { SourceNotes } from './pull-result.ts'
import { unreadyIn } from './readiness.ts'
import type { FollowedHub, HttpStatus, RingStatus, ScansStatus, Status } from './status.ts'
import { statusOf } from './status.ts'

export interface StatusReaderParts extends Pick<DaemonContext, 'store' | 'clock' | 'readOnly' | 'replica'> {
  readonly config: Config
  readonly registry: Registry
  readonly report: PullReport
  readonly scheduler: PullScheduler
  readonly activity: PullActivity
  readonly lock: KnownLock
  readonly served: { readonly lost: readonly LostSource[]; currentOf(id: SourceId): ServedSource | undefined }
  /** The bytes of files that came from an MCP source in the last hour. */
  readonly fetchedFrom: (id: SourceId) => number
  readonly publications: { readonly status: readonly PublicationStatus[] }
  readonly channels: { readonly status: readonly ChannelStatus[] }
  readonly hub: { readonly status: FollowedHub | undefined }
  readonly followedLock: { readonly known: FollowedLock }
  readonly rings: { readonly status: readonly RingStatus[] }
  readonly scans: { readonly status: ScansStatus | undefined }
  readonly startedAt: Date
  readonly itemsOf: ItemsOf
}

/** The status of a daemon, in its forms. */
export class StatusReader {
  readonly #parts: StatusReaderParts
  #http: (() => HttpStatus) | undefined

  constructor(parts: StatusReaderParts) {
    this.#parts = parts
  }

  /** Adds the HTTP side from now on. */
  isServedBy(http: () => HttpStatus): void {
    this.#http = http
  }

  /** `leavesFindings` leaves out the findings in skills, which take longest to collect. */
  status(leavesFindings = false): Status {
    const { config, registry, report, scheduler, activity, lock, served, store, readOnly } = this.#parts
    const { fetchedFrom, startedAt, publications, channels, hub, followedLock, rings, scans } = this.#parts
    const { known, outOfService, loss, approvals } = store.decisions
    return statusOf({
      leavesFindings,
      config,
      catalog: registry.catalog,
      recordOf: (source) => report.recordOf(source),
      decisions: known,
      outOfService,
      loss,
      lost: served.lost,
      approvals,
      nextPolls: scheduler.nextPolls(),
      lookingSince: activity.lookingSince,
      fetchedFrom,
      lock: lock.known,
      followedLock: followedLock.known,
      publications: publications.status,
      channels: channels.status,
      hub: hub.status,
      rings: rings.status,
      scans: scans.status,
      startedAt,
      readOnly: readOnly?.(),
      replicas: this.#parts.replica?.status,
      http: this.#http?.(),
    })
  }

  /** The status in one line, for a service manager: what is served, and the names of what is not well. No messages. */
  get line(): string {
    const status = this.status(true)
    const { skills, sources, generation } = status
    const served = `${countOf(skills, 'skill')} of ${countOf(sources.length, 'source')}, generation ${generation}`
    const urgent = attentionTexts(this.#itemsIn(status)).filter(({ urgency }) => urgency !== 'chosen')
    return [served, ...urgent.map(({ text }) => text)].join('; ')
  }

  /** The state of everything that has one. */
  get items(): readonly Item[] {
    return this.#itemsIn(this.status(true))
  }

  /** The reasons why requests should not be sent to this daemon; empty if it is ready. */
  get unready(): readonly Unready[] {
    const { registry, scheduler } = this.#parts
    return unreadyIn(registry.catalog, scheduler.ages())
  }

  /** The facts about a source that are reported in addition to the outcome of its pull. */
  sourceNotes(id: SourceId): SourceNotes {
    const { lock, served, store } = this.#parts
    const [source, snapshot] = [this.#sourceOf(id), served.currentOf(id)?.snapshot]
    const standing = lock.standingOf(source, store.decisions.knownOf(id))
    const decided = snapshot === undefined ? UNDECIDED_SKILLS : decidedIn(snapshot, source, store.decisions)
    return { decided, served: snapshot?.revision, lock: standing }
  }

  #itemsIn(status: Status): readonly Item[] {
    const { itemsOf, clock } = this.#parts
    return itemsOf(status, clock.now())
  }

  #sourceOf(id: SourceId): Source {
    return configuredIn(this.#parts.config, id).source
  }
}
