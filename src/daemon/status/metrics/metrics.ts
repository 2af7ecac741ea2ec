import { channelFamilies } from '../../../features/channel/channel-families.ts'
import type { ChannelFigures } from '../../../features/channel/channel-families.ts'
import { recallFamilies } from '../../../features/channel/recall/recall-families.ts'
import type { RecallFigures } from '../../../features/channel/recall/recall-families.ts'
import type { ReplicasStatus } from '../../../features/hub-of-several/hub-replica.ts'
import { replicaFamilies } from '../../../features/hub-of-several/replica-families.ts'
import { publicationFamilies } from '../../../features/marketplace/publication-families.ts'
import type { PublicationFigures } from '../../../features/marketplace/publication-families.ts'
import { ringFamilies } from '../../../features/rings/ring-families.ts'
import type { RingStatus } from '../../../features/rings/ring-status.ts'
import { scanFamilies } from '../../../features/scan/scan-families.ts'
import type { ScanFigures } from '../../../features/scan/scan-families.ts'
import type { SkillTotals } from '../../../features/usage/skill-totals.ts'
import { usageFamilies } from '../../../features/usage/usage-families.ts'
import type { Unready } from '../../../serve/http/health.ts'
import type { MetricsForm } from '../../../serve/http/metrics.ts'
import type { HttpFigures } from '../../../serve/http/server.ts'
import type { Config } from '../../config/config.ts'
import { catalogFamilies } from './catalog-families.ts'
import type { CatalogInput } from './catalog-families.ts'
import { expositionOf } from './exposition.ts'
import type { Family } from './family.ts'
import { single } from './family.ts'
import { processFamilies } from './process-families.ts'
import { ServingCounts } from './serving-counts.ts'
import { sourceFamilies } from './source-families.ts'
import type { SourceFigures } from './source-families.ts'

/** The figures that a daemon reports. */
export interface DaemonFigures extends CatalogInput {
  readonly limits: Config['limits']
  readonly ofSources: readonly SourceFigures[]
  readonly publications: readonly PublicationFigures[]
  readonly rings: readonly RingStatus[]
  readonly channels: readonly ChannelFigures[]
  readonly recalls: RecallFigures
  readonly replicas: ReplicasStatus | undefined
  /** True if the newest lock of its repository is in force; `undefined` if the lock is followed from none. */
  readonly isLockCurrent: boolean | undefined
  /** `undefined` if the gate is no scanner. */
  readonly scans: ScanFigures | undefined
  readonly unready: readonly Unready[]
  /** The size of the state folder. */
  readonly storedBytes: number
  /** True if `decisions.json` and its copy are gone. */
  readonly areDecisionsLost: boolean
  /** The number of sources whose served content is lost on disk. */
  readonly sourcesLost: number
  /** The time at which the next of the valid tokens expires; `undefined` if none does. */
  readonly nextTokenExpiry: Date | undefined
}

/** The content of /metrics: collected at each request, except events, which are counted when they happen. */
export class Metrics {
  readonly counts = new ServingCounts()
  readonly #daemon: () => Promise<DaemonFigures>
  readonly #totals: Pick<SkillTotals, 'all'> | undefined
  #http: (() => HttpFigures) | undefined

  /** `totals`: the use of skills; `undefined` if it is not counted, or if the metrics are public and must not name skills. */
  constructor(daemon: () => Promise<DaemonFigures>, totals?: Pick<SkillTotals, 'all'>) {
    this.#daemon = daemon
    this.#totals = totals
  }

  /** Adds the HTTP side from now on. */
  isServedBy(http: () => HttpFigures): void {
    this.#http = http
  }

  readonly text = async (form: MetricsForm): Promise<string> => {
    const ofProcess = await processFamilies()
    const figures = await this.#daemon()
    return expositionOf(
      [
        ...ofProcess,
        single(
          'skillsyncd_ready',
          'gauge',
          '1 if /readyz reports ready, else 0.',
          Number(figures.unready.length === 0),
        ),
        ...storeFamilies(figures),
        tokenFamily(figures),
        ...catalogFamilies(figures),
        ...sourceFamilies(figures.ofSources),
        ...publicationFamilies(figures.publications),
        ...ringFamilies(figures.rings),
        ...channelFamilies(figures.channels),
        ...recallFamilies(figures.recalls),
        ...replicaFamilies(figures.replicas),
        ...lockFamilies(figures),
        ...scanFamilies(figures.scans),
        ...this.#httpFamilies(figures),
        ...this.counts.families(),
        ...(this.#totals === undefined ? [] : usageFamilies(this.#totals)),
      ],
      form,
    )
  }

  #httpFamilies({ limits: { http } }: DaemonFigures): Family[] {
    if (this.#http === undefined) return []
    const { sessions, streams, subscribedUris, unsentBytes, updates, listChanges } = this.#http()
    return [
      single('skillsyncd_http_sessions', 'gauge', 'Sessions of the 2025 era.', sessions),
      single('skillsyncd_http_max_sessions', 'gauge', 'The limit of their number.', http.sessions),
      single('skillsyncd_http_streams', 'gauge', 'Open streams of notifications.', streams),
      single('skillsyncd_http_max_streams', 'gauge', 'The limit of their number.', http.streams),
      single('skillsyncd_http_subscribed_uris', 'gauge', 'URIs with at least one subscription.', subscribedUris),
      single('skillsyncd_http_unsent_bytes', 'gauge', 'Bytes of answers that clients have not read yet.', unsentBytes),
      {
        name: 'skillsyncd_notifications_total',
        kind: 'counter',
        help: 'Notifications for subscribers, by kind; a notification for a session without a stream waits until it has one.',
        samples: [
          { labels: { kind: 'updated' }, value: updates },
          { labels: { kind: 'list_changed' }, value: listChanges },
        ],
      },
    ]
  }
}

function lockFamilies({ isLockCurrent }: DaemonFigures): Family[] {
  const help = '1 if the newest lock of its repository was in force when that was last read, else 0.'
  const samples = isLockCurrent === undefined ? [] : [{ value: Number(isLockCurrent) }]
  return [{ name: 'skillsyncd_lock_current', kind: 'gauge', help, samples }]
}

function storeFamilies({ storedBytes, limits, areDecisionsLost, sourcesLost }: DaemonFigures): Family[] {
  return [
    single(
      'skillsyncd_decisions_lost',
      'gauge',
      '1 if decisions.json and its copy are missing, and the decisions come from the record of them, else 0.',
      areDecisionsLost ? 1 : 0,
    ),
    single(
      'skillsyncd_served_lost',
      'gauge',
      'Sources whose served content the state folder lost, until it is fetched again.',
      sourcesLost,
    ),
    single('skillsyncd_store_bytes', 'gauge', 'Bytes in use in the database of the state folder.', storedBytes),
    single('skillsyncd_store_max_bytes', 'gauge', 'The limit of these bytes: limits.disk.bytes.', limits.disk.bytes),
  ]
}

/** Names of tokens are no labels: the metrics may be public. */
function tokenFamily({ nextTokenExpiry: next }: DaemonFigures): Family {
  const help = 'The time at which the next token expires, in seconds since 1970; absent if no token expires.'
  const samples = next === undefined ? [] : [{ value: next.getTime() / 1_000 }]
  return { name: 'skillsyncd_token_next_expiry_timestamp_seconds', kind: 'gauge', help, samples }
}
