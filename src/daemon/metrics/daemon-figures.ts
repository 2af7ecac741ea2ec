import type { Registry } from '../../serve/registry.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SourceRecord } from '../../sync/store/source-records.ts'
import type { FetchedBytes } from '../base/fetched-bytes.ts'
import type { PullCounts } from '../base/pull-counts.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../context.ts'
import type { PullActivity } from '../schedule/pull-activity.ts'
import type { Age } from '../schedule/staleness.ts'
import type { DaemonFigures } from './metrics.ts'
import type { PublicationFigures } from './publication-families.ts'
import type { SourceFigures } from './source-families.ts'

export interface MeasuredDaemon extends Pick<DaemonContext, 'store'> {
  readonly config: Config
  readonly registry: Registry
  readonly report: { recordOf(source: Source): SourceRecord }
  readonly activity: PullActivity
  readonly scheduler: { ages(): readonly Age[] }
  readonly served: { readonly lost: readonly unknown[] }
  readonly status: { readonly unready: DaemonFigures['unready'] }
  readonly pulls: PullCounts
  readonly fetched: FetchedBytes
  readonly tokens: { readonly nextExpiry: DaemonFigures['nextTokenExpiry'] }
  readonly publications: { readonly figures: readonly PublicationFigures[] }
}

/** The figures of a daemon, for metrics. */
export function daemonFiguresOf(daemon: MeasuredDaemon): DaemonFigures {
  const { config, publications, registry, scheduler, served, status, store } = daemon
  const { decisions } = store
  return {
    catalog: registry.catalog,
    sources: config.sources,
    limits: config.limits,
    disabled: decisions.disabled,
    areDecisionsLost: decisions.loss !== undefined,
    sourcesLost: served.lost.length,
    approvals: decisions.approvals,
    publications: publications.figures,
    unready: status.unready,
    storedBytes: storedBytesOf(store),
    nextTokenExpiry: daemon.tokens.nextExpiry,
    ofSources: scheduler.ages().map((age) => sourceFiguresOf(age, daemon)),
  }
}

/** NaN while the database cannot be read: all other figures are of use then. */
function storedBytesOf(store: MeasuredDaemon['store']): number {
  try {
    return store.bytes
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return Number.NaN
  }
}

function sourceFiguresOf(age: Age, { report, activity, pulls, fetched }: MeasuredDaemon): SourceFigures {
  const { source } = age.configured
  const id: SourceId = source.id
  return {
    age,
    record: report.recordOf(source),
    pulls: pulls.of(id),
    fetchedBytes: fetched.of(id),
    isLookedAt: activity.lookingSince.has(id),
  }
}
