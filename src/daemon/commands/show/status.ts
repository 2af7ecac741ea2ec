import { systemClock } from '../../../base/async/clock.ts'
import { agoText } from '../../../base/text/age-text.ts'
import { countOf } from '../../../base/text/plural.ts'
import { VERSION } from '../../../serve/version.ts'
import { EMPTY_CATALOG } from '../../../sync/catalog/catalog.ts'
import { diagnosticsAbout } from '../../../sync/catalog/contract-diagnostics.ts'
import type { SourceDecision } from '../../../sync/model/decisions/decisions.ts'
import { NOTHING_OUT } from '../../../sync/model/decisions/out-of-service.ts'
import type { Item } from '../../../sync/model/item.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { currentState } from '../../../sync/pull/generation-catalog.ts'
import { readFollowedLock } from '../../../sync/store/followed-lock.ts'
import { NO_SCANS } from '../../../sync/store/scan-records.ts'
import { recordAt } from '../../../sync/store/source-records.ts'
import { Store } from '../../../sync/store/store.ts'
import { paintFor } from '../../cli/colors.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import type { FeatureStatus, StoredStatus } from '../../cli/feature.ts'
import { variantIn } from '../../cli/variant.ts'
import { idsOf } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { lockHolderOf, isAtWork } from '../../control/daemon-lock.ts'
import { GLANCE_MS } from '../../control/lease-renewal.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { statusRequest } from '../../control/status-request.ts'
import { absenceText, processText, silentHolderText } from '../../control/write-lock.ts'
import { lockRead } from '../../pull/trust/lock-rules.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { admissionOf } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { attentionTexts, byUrgency } from '../../status/items.ts'
import { keptOf } from '../../status/skill-rows.ts'
import { isKept, isUpToDate } from '../../status/source-facts.ts'
import { statusOf, withFindings } from '../../status/status.ts'
import type { DaemonStatus, SourceStatus, Status, WriterElsewhere } from '../../status/status.ts'
import type { KeptDigests } from '../../status/verified-files.ts'
import { budgetStatusLines } from './budget-status.ts'
import { lockLines } from './lock-lines.ts'
import { blockOf } from './status-block.ts'
import { skillLinesOf, tableOf } from './status-table.ts'
import type { TableLook } from './status-table.ts'
import { accessText } from './token-lines.ts'

export const status: Command = {
  name: 'status',
  operands: { text: '[SOURCE… | NAME]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  With SOURCE, or with few sources: all about each. Otherwise a line for each, the most urgent first: ! needs an
  operator, ~ is retried, - is intended. --json has exact times.

  --upstream asks each source for its commit now, fetches nothing, and shows what update would move, and where the lock
  and the configuration differ: an entry that is missing, one for a source that is gone, or one with another url or ref.
  The exit status is 3 if there is something.

  --rings shows who gets which commit, and why: each ring with its tokens, or the ring of NAME, which is the name of a
  token, or an id as the log and the audit have it. If this hub has a channel, the entry of a machine with that token
  follows, as its configuration needs it.
`,
  examples: [
    'skillsyncd status',
    'skillsyncd status team --findings',
    'skillsyncd status --check',
    'skillsyncd status --upstream',
    'skillsyncd status --rings ci-1',
  ],
  options: {
    check: { type: 'boolean', help: 'exit with 3 if something needs an operator' },
    findings: { type: 'boolean', help: 'show every finding, not only their number' },
    upstream: { type: 'boolean', help: 'show what update would move, and nothing else' },
    rings: { type: 'boolean', help: 'show the rings, or that of NAME, and nothing else' },
  },
  async run(context) {
    const variant = variantIn(context, { upstream: [], rings: [], '': ['check', 'findings'] })
    if (variant === 'rings') return context.runVariant('status --rings')
    const config = await configInUse(context)
    if (variant === 'upstream') return (await import('./upstream.ts')).printUpstream(context, config)
    const ids = new Set(sourcesNamed(context.operands, config))
    const whole = await statusNow({ ...context, config }, context.operands.length === 0 ? undefined : ids)
    const now = systemClock.now()
    const sources = whole.sources.filter(({ id }) => ids.has(id))
    const features = await context.features.statuses()
    const found = await Promise.all(features.map(async (feature) => feature.found?.(config, context.environment)))
    const itemsOf = await context.features.items()
    const items = byUrgency([...itemsOf({ ...whole, sources }, now), ...found.flatMap((one) => one?.items ?? [])])
    const json = Object.fromEntries(found.flatMap((one) => Object.entries(one?.json ?? {})))
    if (context.json) printJson(context, { ...whole, sources, items, ...json })
    else {
      const sorted = { ...whole, sources: inOrderOf(items, sources) }
      const absence = await absenceText(config.state)
      const look = lookOf(context, now)
      const ofFeatures = [
        ...found.flatMap((one) => one?.lines ?? []),
        ...features.flatMap((feature) => feature.lines?.(sorted, now, look.paint) ?? []),
      ]
      printLines(context, linesOf(sorted, { items, absence, ofFeatures }, look))
    }
    const isUrgent =
      items.some(({ urgency }) => urgency === 'person') || diagnosticsAbout(ids, whole.problems).length > 0
    return context.values['check'] === true && isUrgent ? 3 : 0
  },
}

interface Beside {
  readonly items: readonly Item[]
  /** The text where no daemon answers. */
  readonly absence: string
  readonly ofFeatures: readonly string[]
}

/** The sources in the order of their items. */
function inOrderOf(items: readonly Item[], sources: readonly SourceStatus[]): readonly SourceStatus[] {
  const ranks = new Map(items.flatMap(({ kind, id }, rank) => (kind === 'source' ? [[id, rank] as const] : [])))
  return sources.toSorted((a, b) => (ranks.get(a.id) ?? 0) - (ranks.get(b.id) ?? 0))
}

interface Look extends TableLook {
  /** True to show every finding. */
  readonly all: boolean
  /** True to show the full block of each source, however many there are. */
  readonly inFull: boolean
}

function lookOf(context: Context, now: Date): Look {
  const { streams, operands, values } = context
  const { isTTY, columns } = streams.stdout
  const all = values['findings'] === true
  const width = isTTY === true ? (columns ?? TERMINAL_COLUMNS) : FILE_COLUMNS
  return { now, columns: width, paint: paintFor(context), all, inFull: all || operands.length > 0 }
}

const TERMINAL_COLUMNS = 80
/** Output that is not a terminal has no width. */
const FILE_COLUMNS = 120

/** The status by the daemon that runs, or by the state folder. `about`: the named sources, if any. */
export async function statusNow(
  { config, features, signal }: Pick<Context, 'features' | 'signal'> & { readonly config: ServedConfig },
  about?: ReadonlySet<string>,
): Promise<Status> {
  const answer = await askRunning(config, statusRequest, {}, { signal })
  using store = await Store.openExisting(config.state)
  const ids = idsOf(config)
  // A daemon that answers knows the decisions: a damaged file leaves out the verdicts alone.
  const decisions = await store?.decisions.read().catch((error: unknown) => {
    if (answer === undefined || !(error instanceof SyncError)) throw error
    return undefined
  })
  const { catalog, lost } =
    store === undefined ? { catalog: EMPTY_CATALOG, lost: [] } : await currentState(store, ids, admissionOf(config))
  const kept: KeptDigests = store === undefined ? new Map() : await keptOf(catalog, store)
  const scans = new Map(
    await Promise.all(ids.map(async (id) => [id, (await store?.scans.read(id)) ?? NO_SCANS] as const)),
  )
  const { outOfService, approvals } = store?.decisions ?? { outOfService: NOTHING_OUT, approvals: [] }
  const areRead = store === undefined || decisions !== undefined
  const beside = { kept, scans, about, decisions: areRead ? { outOfService, approvals } : undefined }
  if (answer !== undefined) return withFindings(ofThisVersion(answer.answer), catalog, config, beside)
  const records = new Map(await Promise.all(ids.map(async (id) => [id, await store?.records.read(id)] as const)))
  const now = statusOf({
    config,
    catalog,
    recordOf: (source) => recordAt(records.get(source.id), source),
    decisions: decisions ?? new Map<SourceId, SourceDecision>(),
    outOfService,
    loss: store?.decisions.loss,
    lost,
    approvals,
    lock: await lockRead(config),
    followedLock: config.lockFrom === undefined ? {} : await readFollowedLock(config.state),
    nextPolls: new Map<SourceId, Date>(),
    lookingSince: new Map<SourceId, Date>(),
    fetchedFrom: undefined,
    startedAt: undefined,
    http: undefined,
    ...(await storedParts(config, store, await features.statuses())),
  })
  const elsewhere = await writerElsewhere(config, signal)
  return withFindings({ ...now, ...(elsewhere !== undefined && { elsewhere }) }, catalog, config, beside)
}

async function storedParts(
  config: ServedConfig,
  store: Store | undefined,
  features: readonly FeatureStatus<ServedConfig>[],
): Promise<StoredStatus> {
  const parts: StoredStatus = {}
  for (const feature of features) Object.assign(parts, await feature.stored?.(config, store, systemClock.now()))
  return parts
}

/** The writer that cannot be queried from here. */
async function writerElsewhere({ state }: ServedConfig, signal: AbortSignal): Promise<WriterElsewhere | undefined> {
  const holder = await lockHolderOf(state)
  const silent = await silentHolderText(holder)
  if (holder !== undefined && silent !== undefined)
    return { pid: holder.pid, command: holder.command, isAlive: true, silent }
  if (holder?.isElsewhere !== true) return undefined
  const isAlive = await isAtWork(state, holder, { clock: systemClock, signal, ms: GLANCE_MS })
  return { pid: holder.pid, command: holder.command, isAlive }
}

/** Another version of this program may have another format of its status. */
function ofThisVersion(result: unknown): Status {
  if (isStatus(result)) return result
  throw new OperatorError('other-version', 'The daemon is another version of this program; restart it')
}

function isStatus(result: unknown): result is Status {
  return typeof result === 'object' && result !== null && 'version' in result && result.version === VERSION
}

function linesOf(now: Status, { items, absence, ofFeatures }: Beside, look: Look): string[] {
  const daemon =
    now.daemon === undefined
      ? (elsewhereText(now.elsewhere) ?? absence)
      : `daemon ${now.daemon.pid}, started ${agoText(now.daemon.startedAt, look.now)}${modeText(now.daemon)}`
  const head = `skillsyncd ${now.version}: ${daemon}; generation ${now.generation}, ${countOf(now.skills, 'skill')} served`
  const clients =
    now.http && `${now.http.url}/mcp: ${countOf(now.http.sessions, 'session')}, ${countOf(now.http.streams, 'stream')}`
  const hooks = now.http?.operations && `${now.http.operations.url}/hooks: webhooks`
  return [
    head,
    `state ${now.state}`,
    ...lockLines(now, look.now),
    ...(clients === undefined ? [] : [clients]),
    ...(now.http === undefined ? [] : [accessText(now.http)]),
    ...(hooks === undefined ? [] : [hooks]),
    ...ofFeatures,
    ...(now.isUnjudged === true ? [UNJUDGED] : []),
    ...urgentLines(items, look),
    sourceCountText(now.sources),
    ...attentionTexts(items).map(({ urgency, text }) => look.paint(COLORS[urgency], text)),
    ...sourceLines(now, look),
    ...collisionLines(now),
    ...problemLines(now, look.all),
    ...budgetStatusLines(now.budget, look),
  ]
}

const UNJUDGED = '! the decisions cannot be read, so that no skill is judged here; skillsyncd doctor says why'

function elsewhereText(elsewhere: WriterElsewhere | undefined): string | undefined {
  if (elsewhere === undefined) return undefined
  if (elsewhere.silent !== undefined) return elsewhere.silent
  const who = processText({ ...elsewhere, isElsewhere: true })
  if (elsewhere.isAlive) return `${who} writes the state folder, and cannot be reached from here`
  return `no daemon runs here; ${who} has the lock and did not renew its lease for ${GLANCE_MS / 1000} s`
}

function modeText({ locked, offline }: DaemonStatus): string {
  const switches = [locked ? '--locked' : '', offline ? '--offline' : ''].filter((text) => text !== '')
  return switches.length === 0 ? '' : ` with ${switches.join(' ')}`
}

function sourceLines({ sources, http }: Status, look: Look): string[] {
  if (look.inFull || sources.length <= MOST_IN_FULL)
    return sources.flatMap((source) => ['', ...blockOf(source, { http, now: look.now, all: look.all })])
  return [
    '',
    ...tableOf(sources, look),
    ...skillLinesOf(sources),
    '',
    look.paint('dim', 'skillsyncd status SOURCE shows all about one'),
  ]
}

/** More of them do not fit on a screen. */
const MOST_IN_FULL = 2

function sourceCountText(sources: readonly SourceStatus[]): string {
  const upToDate = sources.filter(
    (source) => isUpToDate(source) && source.problem === undefined && !isKept(source.decision),
  )
  return `${countOf(sources.length, 'source')}${upToDate.length === 0 ? '' : `, ${upToDate.length} up to date`}`
}

/** The first items of each kind, with the number of the others. */
export function urgentLines(items: readonly Item[], look: Pick<Look, 'now' | 'paint'>): string[] {
  const urgent = items.filter(({ urgency }) => urgency === 'person' || urgency === 'retried')
  return [...Map.groupBy(urgent, ({ kind }) => kind)].flatMap(([kind, all]) => {
    const lines = all.slice(0, SHOWN_FINDINGS).flatMap((item) => itemLines(item, look))
    const left = kind === 'source' ? 0 : all.length - SHOWN_FINDINGS
    return left > 0 ? lines.concat(`  ${left} more of kind ${kind}; skillsyncd status --json has all`) : lines
  })
}

/** The problems of an item with their next steps. A source has lines of its own, and a ring that is held is no problem. */
export function itemLines(
  { kind, id, urgency, since, problems }: Item,
  { now, paint }: Pick<Look, 'now' | 'paint'>,
): string[] {
  if (kind === 'source' || urgency === 'well' || urgency === 'chosen') return []
  const [mark, at] = [urgency === 'person' ? '!' : '~', since === undefined ? '' : ` since ${agoText(since, now)}`]
  return problems.flatMap(({ code, message, fix }) => [
    paint(COLORS[urgency], printableLine(`${mark} ${kind} ${id}: ${code}${at}: ${message}`)),
    printableLine(`  ${fix}`),
  ])
}

const COLORS = { person: 'red', retried: 'yellow', chosen: 'dim', well: 'green' } as const

function collisionLines({ collisions: { count, names } }: Status): string[] {
  if (count === 0) return []
  const lines = names.slice(0, SHOWN_FINDINGS).map(({ name, count: skills, uris }) => {
    return `  - ${printableLine(name)}: ${printableLine(uris.join(', '))}${skills > uris.length ? `, ${skills - uris.length} more` : ''}`
  })
  const left = count - lines.length
  return ['', 'Names that skills of different sources share:', ...lines, ...(left > 0 ? [`  ${left} more`] : [])]
}

function problemLines({ problems }: Status, all: boolean): string[] {
  if (problems.length === 0) return []
  const shown = all ? problems : problems.slice(0, SHOWN_FINDINGS)
  const lines = shown.map(({ code, message }) => `  - ${code}: ${printableLine(message)}`)
  const left = problems.length - shown.length
  const more = left > 0 ? [`  ${left} more; --findings shows them`] : []
  return ['', 'Between skills of the contract:', ...lines, ...more]
}

/** As many as fit on a screen with the rest. */
const SHOWN_FINDINGS = 5
