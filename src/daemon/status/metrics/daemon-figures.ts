import type { Registry } from '../../../serve/registry.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { followerOf } from '../../../sync/store/followed-logs.ts'
import type { SourceRecord } from '../../../sync/store/source-records.ts'
import type { Config } from '../../config/config.ts'
import type { PullActivity } from '../../pull/schedule/pull-activity.ts'
import type { Age } from '../../pull/schedule/staleness.ts'
import type { DaemonContext } from '../../runtime/context.ts'
import type { FetchedBytes } from '../../runtime/fetched-bytes.ts'
import type { PullCounts } from '../../runtime/pull-counts.ts'
import type { DaemonFigures } from './metrics.ts'
import type { SourceFigures } from './source-families.ts'

export interface MeasuredDaemon extends Pick<DaemonContext, 'store' | 'clock'> {
  readonly config: Config
  readonly registry: Registry
  readonly report: { recordOf(source: Source): SourceRecord }
  readonly activity: PullActivity
  readonly scheduler: { ages(): readonly Age[] }
  readonly served: { readonly lost: readonly unknown[] }
  readonly status: Pick<DaemonFigures, 'unready' | 'items'>
  readonly pulls: PullCounts
  readonly fetched: FetchedBytes
  readonly tokens: { readonly nextExpiry: DaemonFigures['nextTokenExpiry'] }
}

/** The figures of a daemon, for metrics. */
export async function daemonFiguresOf(daemon: MeasuredDaemon): Promise<DaemonFigures> {
  const { config, registry, scheduler, served, status, store } = daemon
  const { decisions } = store
  return {
    catalog: registry.catalog,
    sources: config.sources,
    limits: config.limits,
    outOfService: decisions.outOfService,
    areDecisionsLost: decisions.loss !== undefined,
    sourcesLost: served.lost.length,
    approvals: decisions.approvals,
    unready: status.unready,
    items: status.items,
    storedBytes: storedBytesOf(store),
    nextTokenExpiry: daemon.tokens.nextExpiry,
    ofSources: await Promise.all(scheduler.ages().map(async (age) => sourceFiguresOf(age, daemon))),
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

async function sourceFiguresOf(age: Age, daemon: MeasuredDaemon): Promise<SourceFigures> {
  const { report, activity, pulls, fetched } = daemon
  const { source } = age.configured
  const id: SourceId = source.id
  return {
    age,
    record: report.recordOf(source),
    pulls: pulls.of(id),
    fetchedBytes: fetched.of(id),
    isLookedAt: activity.lookingSince.has(id),
    entryAgeMs: await entryAgeOf(source, daemon),
  }
}

/** `undefined` if the source follows no log, or none was seen yet; NaN if the record of it cannot be read. */
async function entryAgeOf(source: Source, { store, clock }: MeasuredDaemon): Promise<number | undefined> {
  if (source.kind !== 'channel') return undefined
  try {
    const record = await store.followed.read(followerOf(source))
    return record && clock.now().getTime() - Date.parse(record.entry.at)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return Number.NaN
  }
}
