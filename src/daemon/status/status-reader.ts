import { countOf } from '../../base/text/plural.ts'
import type { RingStatus } from '../../features/rings/ring-status.ts'
import type { ScansStatus } from '../../features/scan/scan-run.ts'
import type { Unready } from '../../serve/http/health.ts'
import type { Registry } from '../../serve/registry.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import type { LostSource } from '../../sync/pull/load-generation.ts'
import type { FollowedLock } from '../../sync/store/followed-lock.ts'
import type { SourceRecord } from '../../sync/store/source-records.ts'
import { configuredIn, idsOf } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import type { PullReport } from '../pull/pull-report.ts'
import type { PullActivity } from '../pull/schedule/pull-activity.ts'
import type { PullScheduler } from '../pull/schedule/pull-scheduler.ts'
import type { KnownLock } from '../pull/trust/known-lock.ts'
import type { DaemonContext } from '../runtime/context.ts'
import type { ChannelStatus, PublicationStatus } from './publication-status.ts'
import type { SourceNotes } from './pull-result.ts'
import { unreadyIn } from './readiness.ts'
import { statusOf } from './status.ts'
import type { FollowedHub, HttpStatus, Status } from './status.ts'
import type { UpgradeDiagnostic } from './upgrade-notices.ts'

export interface StatusReaderParts extends Pick<DaemonContext, 'store' | 'readOnly' | 'replica'> {
  readonly config: Config
  readonly registry: Registry
  readonly report: PullReport
  readonly scheduler: PullScheduler
  readonly activity: PullActivity
  readonly lock: KnownLock
  readonly served: { readonly lost: readonly LostSource[]; currentOf(id: SourceId): ServedSource | undefined }
  /** The bytes of files that came from an MCP source in the last hour. */
  readonly fetchedFrom: (id: SourceId) => number
  /** The paths of the skills of a source that wait for approval. */
  readonly pendingOf: (id: SourceId) => readonly string[]
  readonly publications: { readonly status: readonly PublicationStatus[] }
  readonly channels: { readonly status: readonly ChannelStatus[] }
  readonly hub: { readonly status: FollowedHub | undefined }
  readonly followedLock: { readonly known: FollowedLock }
  readonly rings: { readonly status: readonly RingStatus[] }
  readonly scans: { readonly status: ScansStatus | undefined }
  readonly notices: readonly UpgradeDiagnostic[]
  readonly startedAt: Date
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
    const { fetchedFrom, notices, startedAt, publications, channels, hub, followedLock, rings, scans } = this.#parts
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
      notices,
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

  /** The status in one line, for a service manager. It is sent often, so it must be cheap. */
  get line(): string {
    const { config, registry, readOnly } = this.#parts
    const { generation, listed } = registry.catalog
    return statusLine({
      isReadOnly: readOnly?.() !== undefined,
      generation,
      skills: listed.length,
      sources: idsOf(config),
      recordOf: (id) => this.#recordOf(id),
    })
  }

  /** The reasons why requests should not be sent to this daemon; empty if it is ready. */
  get unready(): readonly Unready[] {
    const { registry, scheduler } = this.#parts
    return unreadyIn(registry.catalog, scheduler.ages())
  }

  /** The facts about a source that are reported in addition to the outcome of its pull. */
  sourceNotes(id: SourceId): SourceNotes {
    const { lock, served, store, pendingOf } = this.#parts
    const standing = lock.standingOf(this.#sourceOf(id), store.decisions.knownOf(id))
    return { pending: pendingOf(id), served: served.currentOf(id)?.snapshot.revision, lock: standing }
  }

  #recordOf(id: SourceId): SourceRecord {
    return this.#parts.report.recordOf(this.#sourceOf(id))
  }

  #sourceOf(id: SourceId): Source {
    return configuredIn(this.#parts.config, id).source
  }
}

/** The state of a daemon. */
export interface DaemonStanding {
  readonly isReadOnly?: boolean
  readonly generation: number
  readonly skills: number
  readonly sources: readonly SourceId[]
  readonly recordOf: (id: SourceId) => Pick<SourceRecord, 'condition' | 'lastSuccess'>
}

/**
 * One line for a service manager: counts, and the source that has been failing for longest. It contains no error
 * messages.
 */
export function statusLine({ isReadOnly, generation, skills, sources, recordOf }: DaemonStanding): string {
  const served = `${isReadOnly === true ? 'read-only, ' : ''}${countOf(skills, 'skill')} of ${countOf(sources.length, 'source')}, generation ${generation}`
  const failing = sources.flatMap((id) => {
    const { condition, lastSuccess } = recordOf(id)
    return condition === undefined ? [] : [{ id, code: condition.code, lastSuccess }]
  })
  const [longest] = failing.toSorted((a, b) => ((a.lastSuccess ?? '') < (b.lastSuccess ?? '') ? -1 : 1))
  if (longest === undefined) return served
  const { id, code, lastSuccess } = longest
  const since = lastSuccess === undefined ? 'never succeeded' : `last success ${lastSuccess}`
  return `${served}; ${failing.length} with a condition, longest "${id}": ${code}, ${since}`
}
