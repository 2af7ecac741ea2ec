import { readdir, readFile } from 'node:fs/promises'
import { codeOf } from '../../../base/error-code.ts'
import type { Unready } from '../../../serve/http/health.ts'
import type { MetricsForm } from '../../../serve/http/metrics.ts'
import type { HttpFigures } from '../../../serve/site/server.ts'
import { VERSION } from '../../../serve/version.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Approvals } from '../../../sync/model/decisions/approvals.ts'
import type { OutOfService } from '../../../sync/model/decisions/out-of-service.ts'
import { URGENCIES } from '../../../sync/model/item.ts'
import type { Item } from '../../../sync/model/item.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { decidedIn, tallyOf, UNDECIDED_SKILLS } from '../../../sync/model/verdict/skill-states.ts'
import type { Config, ConfiguredSource } from '../../config/config.ts'
import type { Family, Labels, Sample } from './family.ts'
import { single } from './family.ts'
import { ServingCounts } from './serving-counts.ts'
import { sourceFamilies } from './source-families.ts'
import type { SourceFigures } from './source-families.ts'

/** The figures that a daemon reports. */
export interface DaemonFigures extends CatalogInput {
  readonly limits: Config['limits']
  readonly ofSources: readonly SourceFigures[]
  readonly unready: readonly Unready[]
  /** The state of everything that has one. */
  readonly items: readonly Item[]
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
  readonly #ofFeatures: () => readonly Family[]
  readonly #uses: () => readonly Family[]
  #http: (() => HttpFigures) | undefined

  /** `uses`: the use of skills; none if it is not counted, or if the metrics are public and must not name skills. */
  constructor(
    daemon: () => Promise<DaemonFigures>,
    ofFeatures: () => readonly Family[],
    uses: () => readonly Family[] = () => [],
  ) {
    this.#daemon = daemon
    this.#ofFeatures = ofFeatures
    this.#uses = uses
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
        itemFamily(figures.items),
        ...storeFamilies(figures),
        tokenFamily(figures),
        ...catalogFamilies(figures),
        ...sourceFamilies(figures.ofSources),
        ...this.#ofFeatures(),
        ...this.#httpFamilies(figures),
        ...this.counts.families(),
        ...this.#uses(),
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
        help: 'Notifications for subscribers, by kind, those that wait for the stream of a session included.',
        samples: [
          { labels: { kind: 'updated' }, value: updates },
          { labels: { kind: 'list_changed' }, value: listChanges },
        ],
      },
    ]
  }
}

/** Each kind that has an item, by how urgent it is: an alert on `person` misses nothing that `status` shows. */
export function itemFamily(items: readonly Item[]): Family {
  const samples = [...Map.groupBy(items, ({ kind }) => kind)].flatMap(([kind, all]) =>
    URGENCIES.map((urgency) => ({
      labels: { kind, urgency },
      value: all.filter((item) => item.urgency === urgency).length,
    })),
  )
  const help = 'Everything with a state, by its kind and the attention that it needs, as skillsyncd status shows it.'
  return { name: 'skillsyncd_items', kind: 'gauge', help, samples }
}

function storeFamilies({ storedBytes, limits, areDecisionsLost, sourcesLost }: DaemonFigures): Family[] {
  return [
    single(
      'skillsyncd_decisions_lost',
      'gauge',
      '1 if decisions.json and its copy are missing, so that decisions hold by their record, else 0.',
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
  const help = 'The time at which the next token expires; absent if none does.'
  const samples = next === undefined ? [] : [{ value: next.getTime() / 1_000 }]
  return { name: 'skillsyncd_token_next_expiry_timestamp_seconds', kind: 'gauge', help, samples }
}

/**
 * Renders metrics in the exposition format of Prometheus, 0.0.4, or OpenMetrics 1.0. They differ in the names of
 * counters and in the last line.
 */
export function expositionOf(families: readonly Family[], form: MetricsForm): string {
  const text = families.map((family) => textOf(family, form)).join('')
  return form === 'openmetrics' ? `${text}# EOF\n` : text
}

function textOf({ name, kind, help, samples }: Family, form: MetricsForm): string {
  const called = form === 'openmetrics' && kind === 'counter' ? name.replace(/_total$/, '') : name
  const lines = samples.map((sample) => lineOf(name, sample))
  return `# HELP ${called} ${helpText(help, form)}\n# TYPE ${called} ${kind}\n${lines.join('')}`
}

function lineOf(name: string, { suffix = '', labels = {}, value }: Sample): string {
  return `${name}${suffix}${labelsText(labels)} ${numberText(value)}\n`
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${escape(value).replaceAll('"', '\\"')}"`],
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function helpText(help: string, form: MetricsForm): string {
  return form === 'openmetrics' ? escape(help).replaceAll('"', '\\"') : escape(help)
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}

/**
 * The metrics of this process, with the usual names of Node programs. Values that the system does not provide are
 * absent. The event loop lag is not measured, since that needs a timer that never rests: the loop's utilization tells
 * as much.
 */
async function processFamilies(): Promise<Family[]> {
  const { user, system } = process.cpuUsage()
  const memory = process.memoryUsage()
  const { active, idle } = performance.eventLoopUtilization()
  return [
    {
      name: 'skillsyncd_build_info',
      kind: 'gauge',
      help: 'Always 1; the labels have the version of the program and of Node.',
      samples: [{ labels: { version: VERSION, node: process.versions.node }, value: 1 }],
    },
    single('process_cpu_seconds_total', 'counter', 'Processor time, of all threads.', (user + system) / 1_000_000),
    single('process_resident_memory_bytes', 'gauge', 'Resident memory.', memory.rss),
    single('process_start_time_seconds', 'gauge', 'The start time of the process.', performance.timeOrigin / 1_000),
    ...(await descriptorFamilies()),
    single('nodejs_heap_size_total_bytes', 'gauge', 'The heap of the main thread.', memory.heapTotal),
    single('nodejs_heap_size_used_bytes', 'gauge', 'The used part of that heap.', memory.heapUsed),
    single('nodejs_external_memory_bytes', 'gauge', 'Memory outside the heap that belongs to it.', memory.external),
    single(
      'nodejs_eventloop_active_seconds_total',
      'counter',
      'Time in which the event loop of the main thread worked.',
      active / 1_000,
    ),
    single('nodejs_eventloop_idle_seconds_total', 'counter', 'Time in which it waited for events.', idle / 1_000),
  ]
}

async function descriptorFamilies(): Promise<Family[]> {
  const [open, limits] = await Promise.all([
    ifTold(readdir('/proc/self/fd')),
    ifTold(readFile('/proc/self/limits', 'utf8')),
  ])
  const most = /^Max open files +(\d+)/m.exec(limits ?? '')?.[1]
  return [
    // One of them is the open folder itself.
    ...(open === undefined ? [] : [single('process_open_fds', 'gauge', 'Open file descriptors.', open.length - 1)]),
    ...(most === undefined
      ? []
      : [single('process_max_fds', 'gauge', 'File descriptors that may be open.', Number(most))]),
  ]
}

/** `undefined` on systems without such a file, and in sandboxes that hide it. */
async function ifTold<Told>(reading: Promise<Told>): Promise<Told | undefined> {
  return reading.catch((error: unknown) => {
    if (codeOf(error) === undefined) throw error
    return undefined
  })
}

/** The inputs of the catalog's metrics. */
interface CatalogInput {
  readonly catalog: Catalog
  readonly sources: readonly ConfiguredSource[]
  readonly outOfService: OutOfService
  readonly approvals: Approvals
}

/** The metrics of the served catalog. */
export function catalogFamilies(input: CatalogInput): Family[] {
  const { catalog } = input
  return [
    single(
      'skillsyncd_catalog_generation',
      'gauge',
      'The number of the served generation; 0 before the first.',
      catalog.generation,
    ),
    single('skillsyncd_catalog_skills', 'gauge', 'Listed skills.', catalog.listed.length),
    single('skillsyncd_catalog_files', 'gauge', 'Readable files.', catalog.files.size),
    {
      name: 'skillsyncd_source_skills',
      kind: 'gauge',
      help: 'Skills that were found, by state: served, partly, waiting, disabled, withheld, or links (to nothing).',
      samples: input.sources.flatMap((configured) => statesOf(configured, input)),
    },
    {
      name: 'skillsyncd_source_findings',
      kind: 'gauge',
      help: 'Findings, by rule.',
      samples: input.sources.flatMap((configured) => findingsOf(configured, input.catalog)),
    },
  ]
}

function snapshotOf({ source }: ConfiguredSource, { snapshots }: Catalog): Snapshot | undefined {
  return snapshots.find((snapshot) => snapshot.source === source.id)
}

function statesOf(configured: ConfiguredSource, input: CatalogInput): Sample[] {
  const { id } = configured.source
  const snapshot = snapshotOf(configured, input.catalog)
  const decided = snapshot === undefined ? UNDECIDED_SKILLS : decidedIn(snapshot, configured.source, input)
  const { seen: _all, ...states } = tallyOf(snapshot?.skills ?? [], decided)
  return Object.entries(states).map(([state, value]) => ({ labels: { source: id, state }, value }))
}

/** Counted once per snapshot, because there can be many findings and the next catalog reuses most snapshots. */
function findingsOf(configured: ConfiguredSource, catalog: Catalog): Sample[] {
  const snapshot = snapshotOf(configured, catalog)
  if (snapshot === undefined) return []
  const known = FINDINGS.get(snapshot) ?? countedIn(snapshot)
  FINDINGS.set(snapshot, known)
  return [...known].map(([rule, value]) => ({ labels: { source: snapshot.source, rule }, value }))
}

const FINDINGS = new WeakMap<Snapshot, ReadonlyMap<string, number>>()

function countedIn({ skills, findings, docsFolder }: Snapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const list of [findings, docsFolder?.findings ?? [], ...skills.map((skill) => skill.findings)])
    for (const { rule } of list) counts.set(rule, (counts.get(rule) ?? 0) + 1)
  return counts
}
