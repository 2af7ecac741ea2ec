import { hostname } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import type { OAuthOptions } from '../serve/http/access/protected-resource.ts'
import type { Unready } from '../serve/http/routes/health.ts'
import type { Webhooks } from '../serve/http/routes/webhook.ts'
import type { Serving } from '../serve/mcp/core/methods.ts'
import type { Registry } from '../serve/registry.ts'
import { problemsOf, type ContractProblem } from '../sync/catalog/contract-problems.ts'
import { pendingPaths } from '../sync/decisions/approvals.ts'
import { UNDECIDED, type SourceDecision } from '../sync/decisions/decisions.ts'
import type { Outcome } from '../sync/model/outcome.ts'
import type { ObjectId, Revision } from '../sync/model/revision.ts'
import type { Current } from '../sync/model/snapshot.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import type { Source } from '../sync/model/source.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import type { Fallback } from '../sync/pull/fallback-source.ts'
import { Publisher } from '../sync/pull/publisher.ts'
import type { SourceRecord } from '../sync/store/source-records.ts'
import type { SecondOpinion } from '../sync/upstream/git/second-opinion/second-opinion.ts'
import type { Linking } from './agent-folders/link-sync.ts'
import { configuredIn, idsOf } from './config/config.ts'
import type { Config, ConfiguredSource } from './config/config.ts'
import type { DaemonContext } from './context.ts'
import { Keyring } from './credentials/keyring.ts'
import { servingOf } from './http/mcp-serving.ts'
import { PageData } from './http/page-data.ts'
import { SessionJournal } from './http/session-journal.ts'
import type { Tokens } from './http/tokens.ts'
import { webhooksOf } from './http/webhooks.ts'
import { McpSources, forgetRemoved } from './mcp-sources/mcp-sources.ts'
import type { DaemonFigures } from './metrics/metrics.ts'
import { Candidates, type Comparison } from './pull/candidates.ts'
import { decisionAfter, expectWaiting, isWaiting } from './pull/decide.ts'
import type { HeldRevision, NamedRevision, Situation, Verb } from './pull/decide.ts'
import { DocumentThread } from './pull/document-thread.ts'
import { followDisabled, mendDecisions, readDecisions, recogniseDisabled } from './pull/load-decisions.ts'
import { ownFolders } from './pull/pull-context.ts'
import { Puller, repositoryOf } from './pull/puller.ts'
import type { PullerParts } from './pull/puller.ts'
import type { RollbackTarget, RolledBack } from './pull/rollback.ts'
import { Rollbacks } from './pull/run-rollback.ts'
import { StoreContentReader } from './pull/store-content-reader.ts'
import { lastingFor } from './reload-state.ts'
import type { ReloadState } from './reload-state.ts'
import { FolderWatch } from './schedule/folder-watch.ts'
import { hostOf } from './schedule/host-backoff.ts'
import { Poller } from './schedule/poller.ts'
import type { PollEnd } from './schedule/poller.ts'
import { Freshness } from './schedule/refresh-on-read.ts'
import { Staleness } from './schedule/staleness.ts'
import { TriggerDebounce } from './schedule/trigger-debounce.ts'
import { Searching } from './search/search-service.ts'
import { disablementIn, keptOut, type Disablement } from './status/disablement.ts'
import { tellLosses } from './status/lost-sources.ts'
import type { Beside } from './status/pull-result.ts'
import { unreadyIn } from './status/readiness.ts'
import { PullReport } from './status/report.ts'
import { statusLine } from './status/status-line.ts'
import { statusOf } from './status/status.ts'
import type { HttpStatus, Status } from './status/status.ts'
import { lackingIn } from './status/unserved-sources.ts'
import { isNew, noticesOf, remember, unlessUnreadable } from './status/upgrade-notices.ts'
import type { UpgradeNotice } from './status/upgrade-notices.ts'
import { KnownLock } from './trust/known-lock.ts'
import { expectLock, isBound, lockRead } from './trust/lock-rules.ts'
import { admissionOf } from './trust/serving-policy.ts'

/**
 * The only writer of a state folder. It pulls each source on its schedule and swaps the catalog. It serves the stored
 * generation from the start, and no failure takes that away.
 */
export class Daemon implements AsyncDisposable {
  readonly config: Config
  readonly registry: Registry
  /** The tokens that HTTP clients authenticate with. */
  readonly tokens: Tokens
  /** The authorization server whose tokens are accepted. */
  readonly oauth: OAuthOptions | undefined
  readonly upstreams: McpSources
  readonly lock: KnownLock
  /** The links from the folders of agents. */
  readonly linking: Linking
  /** The news that the web page shows. */
  readonly news: PageData
  readonly #parts: DaemonContext
  readonly #report: PullReport
  readonly #puller: Puller
  readonly #candidates: Candidates
  readonly #rollbacks: Rollbacks
  readonly #contents: StoreContentReader
  readonly #searching: Searching
  readonly #reader = new DocumentThread()
  readonly #lasting: ReloadState
  readonly #nudges: TriggerDebounce
  readonly #freshness: Freshness
  readonly #ages: Staleness
  #poller: Poller | undefined
  #watches: ReadonlyMap<SourceId, FolderWatch> = new Map()
  /** Lets MCP servers that are sources notify the daemon of changes in what is served. */
  #watching: Disposable | undefined
  #http: (() => HttpStatus) | undefined

  private constructor(config: Config, parts: DaemonContext, { publisher, report, lasting }: Loaded) {
    this.config = config
    this.#parts = parts
    this.#report = report
    this.#lasting = lasting
    this.registry = lasting.registry
    this.tokens = lasting.tokens
    this.linking = lasting.linking
    this.oauth = lasting.oauth
    this.lock = new KnownLock(config)
    const { environment, redactor, clock } = parts
    const { names } = lasting
    const keyring = new Keyring({ environment, redactor, clock, names, fetchMs: config.limits.fetch.totalMs })
    const { registry } = this
    this.upstreams = new McpSources({
      ...parts,
      config,
      fetched: lasting.fetched,
      keyring,
      reader: this.#reader,
      onNews: (id) => {
        this.#puller.attempts.heard(id)
        this.#nudges.nudge(id)
      },
      currentOf: (id) => this.#puller.currentOf(id),
      serve: () => this.#puller.serve(),
      judge: (source) => this.#puller.judge(source, 'call'),
      retake: async (id) => {
        this.#puller.markDamaged(id)
        await pullForCall(id)
      },
      pull: (id) => this.#puller.request(this.#configured(id), 'command'),
    })
    this.news = new PageData({
      ...parts,
      config,
      registry,
      status: () => this.status(true),
      isBound: (id) => isBound(this.besidePull(id).lock),
      pendingOf: (id) => this.pendingOf(id),
      contractProblems: () => lasting.contract.known,
    })
    const reaching = { ...parts, servers: this.upstreams.servers, reader: this.#reader }
    const fetchAll: PullerParts['fetchAll'] = (source, signal) => this.upstreams.fetchAll(source, signal)
    const fallbackTo: PullerParts['fallbackTo'] = (id) => this.#fallbackTo(id)
    const { hosts, fetched } = lasting
    this.#puller = new Puller({
      ...reaching,
      config,
      hosts,
      fetched,
      registry,
      publisher,
      report,
      keyring,
      lock: this.lock,
      fetchAll,
      fallbackTo,
      linked: () => this.linking.settled(),
    })
    this.#candidates = new Candidates(config, reaching, lasting)
    this.#rollbacks = new Rollbacks(config, parts, this.#puller, this.#candidates)
    const pullForCall = (id: SourceId): Promise<Outcome> => this.#puller.request(this.#configured(id), 'call')
    const mending = {
      markDamaged: (id: SourceId) => this.#puller.markDamaged(id),
      // The caller that requested the file found the damage.
      pull: pullForCall,
    }
    this.#contents = new StoreContentReader(parts, registry, mending, this.upstreams.contents)
    this.#searching = new Searching({ ...parts, state: config.state })
    this.#nudges = new TriggerDebounce({
      clock: parts.clock,
      closedMs: (id) => this.#puller.hosts.closedMs(hostOf(this.#configured(id).source)),
      pull: (id) => this.#pullNudged(id),
    })
    this.#freshness = new Freshness(
      config.sources.map(({ source }) => source),
      {
        clock: parts.clock,
        waitMs: config.serve.tools?.waitMs ?? 0,
        // A source that its server declares fresh counts as just checked.
        sinceAttemptMs: (id) => (this.#freshMs(id) > 0 ? 0 : this.#puller.sinceAttemptMs(id)),
        hasNews: (id) => this.#puller.attempts.hasNews(id) || this.#watches.get(id)?.isSure === false,
        isOpen: (source) => this.#isOpen(source),
        pull: pullForCall,
      },
    )
    this.#ages = new Staleness({
      config,
      clock: parts.clock,
      recordOf: (source) => report.recordOf(source),
      decisions: () => parts.store.decisions.known,
      freshMs: (id) => this.#freshMs(id),
    })
  }

  /**
   * Loads the last generation, except what must not be served. Pulls nothing before `poll` or `sync`. `before` is the
   * stopped daemon of the same state folder; the new daemon takes over its catalog, tokens and clients.
   */
  static async start(config: Config, parts: DaemonContext, before?: Daemon): Promise<Daemon> {
    await expectLock(config)
    const ids = idsOf(config)
    await readDecisions(parts)
    await mendDecisions(parts)
    const { publisher, refused } = await Publisher.open(
      parts.store,
      ids,
      admissionOf(config),
      before === undefined ? [] : before.#puller.lost,
    )
    await recogniseDisabled(publisher.catalog.snapshots, parts)
    const { catalog } = publisher
    const isLess = before?.registry.catalog.snapshots.some(({ source }) => !ids.includes(source)) === true
    const lasting =
      before === undefined ? await lastingFor(config, parts, await noticesAtStart(config, parts)) : before.#lasting
    const report = await PullReport.open(parts.store.records, ids, { ...parts, counts: lasting.pulls })
    const daemon = new Daemon(config, parts, { publisher, report, lasting })
    await daemon.linking.read()
    await daemon.lock.read()
    lasting.views.define(config.packs)
    daemon.registry.publish(catalog)
    tellLosses(publisher.lost, parts.log)
    await daemon.linking.settled()
    await readTokens(daemon.tokens, parts)
    const trigger = before === undefined ? 'start' : 'reload'
    // Other processes read the generation from disk: it must not keep naming content that must not be served.
    if ((refused.length > 0 || isLess) && parts.readOnly?.() === undefined)
      await daemon.#puller.publish(new Map(), { action: 'withdraw', trigger })
    // Last, since it cannot be undone: if one of the steps above fails, the previous configuration stays in use.
    await forgetRemoved(config, parts)
    return daemon
  }

  /** Notifies the operator once of the changes in behavior since the version that last wrote the state folder. */
  async tellChanges(): Promise<void> {
    const { store, log } = this.#parts
    for (const { change, message } of this.#lasting.notices) log.warn('behaviour-changed', { change, message })
    await unlessUnreadable(remember(store), undefined)
  }

  get serving(): Serving {
    return servingOf(
      this.config,
      this.#lasting.views,
      {
        read: (kept, file, trace) => this.#contents.read(kept, file, trace),
        isRefused: (kept) => this.upstreams.contents.isRefused(kept),
      },
      {
        look: (source, mostMs) => this.look(source, mostMs),
        lacking: (catalog) => lackingIn(catalog, this.config, this.#parts.store),
      },
      this.#searching,
    )
  }

  /** The reasons why requests should not be sent to this daemon; empty if it is ready. */
  get unready(): readonly Unready[] {
    return unreadyIn(this.registry.catalog, this.#ages.all())
  }

  /** True if the state folder cannot be written: stored content is served, and nothing new. */
  get isReadOnly(): boolean {
    return this.#parts.readOnly?.() !== undefined
  }

  /** The webhooks through which hosts report changes of their sources. */
  get webhooks(): Webhooks {
    return webhooksOf(this.config, { ...this.#parts, nudge: (id) => this.#nudges.nudge(id) })
  }

  /** Opens the journal in which client sessions outlive this process. */
  openSessions(): SessionJournal {
    return new SessionJournal(this.#parts)
  }

  /** Starts to pull each source on its schedule, and each folder source when a file in it changes. */
  poll(): void {
    const watching = {
      ...this.#parts,
      nudge: (id: SourceId): void => this.#nudges.nudge(id),
      apart: ownFolders(this.config, this.#parts.environment),
      onNews: (id: SourceId): void => this.#puller.attempts.heard(id),
      isOfUse: (id: SourceId, path: string): Promise<boolean> => this.#puller.isOfUse(id, path),
    }
    this.#watches = new Map(
      this.config.sources.flatMap(({ source }) =>
        source.kind === 'directory' ? [[source.id, new FolderWatch(source, watching)]] : [],
      ),
    )
    this.upstreams.watch()
    // Runs even if the catalog that clients see is unchanged: skills that wait for approval are watched too.
    this.#watching = this.registry.watch(() => this.upstreams.watch())
    const polled = this.config.sources.map((configured) => ({
      id: configured.source.id,
      host: hostOf(configured.source),
      group: JSON.stringify([repositoryOf(configured), configured.source.schedule]),
      schedule: configured.source.schedule,
      isNew: this.#puller.currentOf(configured.source.id) === undefined,
    }))
    this.#poller = new Poller(polled, {
      clock: this.#parts.clock,
      hosts: this.#puller.hosts,
      machine: hostname(),
      random: Math.random,
      poll: (id) => this.#poll(id),
    })
  }

  /** Adds the HTTP side to the status from now on. */
  isServedBy(http: () => HttpStatus): void {
    this.#http = http
  }

  /** Pulls all sources, or the named ones, now. Returns the outcome for each. */
  async sync(ids?: readonly SourceId[]): Promise<ReadonlyMap<SourceId, Outcome>> {
    const wanted = ids === undefined ? this.config.sources : ids.map((id) => this.#configured(id))
    const ends = wanted.map(async (configured) => {
      return [configured.source.id, await this.#puller.request(configured, 'command')] as const
    })
    const outcomes = new Map(await Promise.all(ends))
    await this.linking.settled()
    return outcomes
  }

  /**
   * Checks the stale sources, or the given one even if it is fresh, because a client requests their content. Resolves
   * when the result is served or the wait is over (default: `serve.tools.wait`). Returns the time left of that wait.
   */
  async look(id?: SourceId, mostMs?: number): Promise<number> {
    // Lets pending file system events of watched folders arrive first.
    await turn()
    return this.#freshness.look(id, mostMs)
  }

  /** The revision that the ref of a source points to now. Changes nothing. */
  async revision(id: SourceId, signal: AbortSignal): Promise<Revision> {
    return this.#candidates.revision(this.#configured(id), signal)
  }

  /** Compares the upstream now with what is served. Changes nothing. */
  async compare(id: SourceId, signal: AbortSignal): Promise<Comparison> {
    return this.#candidates.compare(this.#configured(id), this.#puller.currentOf(id), signal)
  }

  /** Compares the served commit with the same commit fetched by isomorphic-git; `undefined` if nothing is served. */
  async secondOpinion(id: SourceId, signal: AbortSignal): Promise<SecondOpinion | undefined> {
    const current = this.#puller.currentOf(id)
    return current && this.#candidates.secondOpinion(this.#configured(id), current, signal)
  }

  /** Fetches the current upstream, or one commit, into the store, to be inspected or locked. It is not served. */
  async candidate(id: SourceId, precise: ObjectId | undefined, signal: AbortSignal): Promise<Current> {
    return this.#candidates.take(this.#configured(id), this.#puller.currentOf(id), precise, signal)
  }

  /** The revision of a source that waits for a decision, and the reason. Throws if nothing waits. */
  waiting(id: SourceId, verb: 'approve' | 'reject'): HeldRevision {
    const situation = this.#situation(id)
    const revision = expectWaiting(situation, this.#parts.store.decisions.of(id).frozen, verb)
    const { condition } = this.#report.recordOf(this.#configured(id).source)
    if (condition === undefined) throw new TypeError('What waits does so under a condition')
    return { revision, ...condition }
  }

  /** Stores the operator's decision about a source. The next pull follows it. */
  async decide(id: SourceId, verb: Verb, named: NamedRevision = {}): Promise<void> {
    // A running pull would follow the previous decision.
    await this.#puller.stop(id)
    const situation = { ...this.#situation(id), ...named }
    await this.#parts.store.decisions.change(id, (before) => decisionAfter(verb, before, situation))
    const { commit, tag } = named
    const about = { ...(commit !== undefined && { commit }), ...(tag !== undefined && { tag }) }
    this.#parts.log.info('decided', { source: id, decision: verb, ...about })
  }

  /** The facts that a decision about a source depends on, except those that the operator names. */
  #situation(id: SourceId): Omit<Situation, keyof NamedRevision> {
    const { condition, revision } = this.#report.recordOf(this.#configured(id).source)
    const served = this.#puller.currentOf(id)?.snapshot.revision
    const waiting = isWaiting(condition?.code) ? revision : undefined
    return { source: id, served, waiting, pending: this.pendingOf(id).length }
  }

  /**
   * Takes a skill out of service at once, or brings it back; the skill need not exist. The change is written to disk
   * first: a client that was notified of the removal must not find the skill again after a kill.
   */
  async disable(id: SourceId, path: string, disabled: boolean, sourceOnly = false): Promise<Disablement> {
    const { store, log } = this.#parts
    const snapshots = idsOf(this.config).flatMap((one) => this.#puller.currentOf(one)?.snapshot ?? [])
    const before = store.decisions.disabled
    const isNew = await store.decisions.disable(id, path, disabled, { snapshots, sourceOnly })
    if (isNew && disabled) await followDisabled(snapshots, this.#parts)
    await this.#puller.serveInSlices()
    await this.linking.settled()
    if (isNew) log.info(disabled ? 'skill-disabled' : 'skill-enabled', { source: id, skill: path })
    const after = store.decisions.disabled
    const still = disabled ? undefined : keptOut(snapshots, after, { source: id, path })
    return { isNew, ...disablementIn(snapshots, before, after), ...(still !== undefined && { still }) }
  }

  /**
   * Serves a previous revision again. With `hold`, it stays until the operator releases it; otherwise the revision it
   * replaces is skipped, and the next commit is taken.
   */
  async rollback(target: RollbackTarget, hold: boolean, signal: AbortSignal): Promise<readonly RolledBack[]> {
    const done = await this.#rollbacks.to(target, hold, signal)
    await this.linking.settled()
    return done
  }

  /** The paths of the skills of a source that wait for approval. */
  pendingOf(id: SourceId): readonly string[] {
    const snapshot = this.registry.catalog.snapshots.find(({ source }) => source === id)
    return pendingPaths(this.#configured(id).source, snapshot, this.#parts.store.decisions.approvals)
  }

  /** The problems between skills of the contract in which one of these sources has a part. */
  async contractProblems(ids: readonly SourceId[]): Promise<readonly ContractProblem[]> {
    return problemsOf(new Set(ids), await this.#lasting.contract.problems())
  }

  /** The facts about a source that are reported in addition to the outcome of its pull. */
  besidePull(id: SourceId): Beside {
    const { source } = this.#configured(id)
    const served = this.#puller.currentOf(id)?.snapshot.revision
    return { pending: this.pendingOf(id), served, lock: this.lock.standingOf(source, this.#decidedOf(id)) }
  }

  #decidedOf(id: SourceId): SourceDecision {
    return this.#parts.store.decisions.known.get(id) ?? UNDECIDED
  }

  /** The figures of the daemon, for metrics. */
  figures(): DaemonFigures {
    const { attempts } = this.#puller
    const { fetched, pulls } = this.#lasting
    const ages = this.#ages.all()
    const { decisions, bytes } = this.#parts.store
    return {
      catalog: this.registry.catalog,
      sources: this.config.sources,
      limits: this.config.limits,
      disabled: decisions.disabled,
      areDecisionsLost: decisions.loss !== undefined,
      sourcesLost: this.#puller.lost.length,
      approvals: decisions.approvals,
      unready: unreadyIn(this.registry.catalog, ages),
      storedBytes: bytes,
      ofSources: ages.map((age) => {
        const { source } = age.configured
        const { id } = source
        return {
          age,
          record: this.#report.recordOf(source),
          pulls: pulls.of(id),
          fetchedBytes: fetched.of(id),
          isLookedAt: attempts.lookingSince.has(id),
        }
      }),
    }
  }

  /** `leavesFindings` leaves out the findings in skills, which take longest to collect. */
  status(leavesFindings = false): Status {
    return statusOf({
      leavesFindings,
      config: this.config,
      catalog: this.registry.catalog,
      recordOf: (source) => this.#report.recordOf(source),
      decisions: this.#parts.store.decisions.known,
      disabled: this.#parts.store.decisions.disabled,
      loss: this.#parts.store.decisions.loss,
      lost: this.#puller.lost,
      approvals: this.#parts.store.decisions.approvals,
      nextPolls: this.#poller?.nextPolls() ?? new Map(),
      lookingSince: this.#puller.attempts.lookingSince,
      fetchedFrom: (id) => this.upstreams.fetchedFrom(id),
      lock: this.lock.known,
      notices: this.#lasting.notices,
      startedAt: this.#lasting.startedAt,
      readOnly: this.#parts.readOnly?.(),
      http: this.#http?.(),
    })
  }

  /** The status in one line, for a service manager. It is sent often, so it must be cheap. */
  get standing(): string {
    const { generation, listed } = this.registry.catalog
    const recordOf = (id: SourceId): SourceRecord => this.#report.recordOf(this.#configured(id).source)
    return statusLine({
      isReadOnly: this.#parts.readOnly?.() !== undefined,
      generation,
      skills: listed.length,
      sources: idsOf(this.config),
      recordOf,
    })
  }

  /** Stops all pulling and publishing. The current catalog stays served and readable. */
  async stop(): Promise<void> {
    this.#nudges[Symbol.dispose]()
    await Promise.all([...this.#watches.values()].map((watch) => watch[Symbol.asyncDispose]()))
    await this.#poller?.[Symbol.asyncDispose]()
    this.#watching?.[Symbol.dispose]()
    await this.#puller[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstreams.endReading()
    await this.stop()
    await this.news[Symbol.asyncDispose]()
    await this.#searching[Symbol.asyncDispose]()
    await this.upstreams[Symbol.asyncDispose]()
    await this.#reader[Symbol.asyncDispose]()
    await this.linking.settled()
    await this.#lasting.contract.problems()
  }

  #isOpen(source: Source): boolean {
    const { mode } = this.config
    const { known } = this.#parts.store.decisions
    if (known.get(source.id)?.paused === true || (mode.offline && source.kind !== 'directory')) return false
    return this.#puller.hosts.closedMs(hostOf(source)) === 0
  }

  #fallbackTo(id: SourceId): Fallback {
    return {
      id,
      list: async (signal) => (await this.candidate(id, undefined, signal)).snapshot.skills,
      read: (skill, file) => this.upstreams.contents.bring(skill, file),
    }
  }

  /** A server is not polled before its answer stops being fresh, unless something is wrong. */
  async #poll(id: SourceId): Promise<PollEnd> {
    const freshMs = this.#freshMs(id)
    if (freshMs > 0) return { failed: undefined, freshMs }
    const outcome = await this.#puller.request(this.#configured(id), 'schedule')
    return { failed: outcome.kind === 'failed' ? outcome.error.code : undefined, freshMs: this.#freshMs(id) }
  }

  #freshMs(id: SourceId): number {
    const { condition } = this.#report.recordOf(this.#configured(id).source)
    return condition === undefined ? this.#puller.attempts.freshMs(id) : 0
  }

  #configured(id: SourceId): ConfiguredSource {
    return configuredIn(this.config, id)
  }

  /** The recovery of a webhook is logged here and not at each request: pulls happen less often than requests. */
  async #pullNudged(id: SourceId): Promise<void> {
    this.#parts.log.debug('source-nudged', { source: id })
    this.#parts.log.recovery('webhook-refused', id)
    const configured = this.#configured(id)
    const outcome = await this.#puller.request(configured, configured.source.kind === 'git' ? 'webhook' : 'change')
    // The change that triggered this pull must not be lost with the failed pull.
    if (outcome.kind === 'failed') this.#poller?.retry(id, outcome.error.code)
  }
}

interface Loaded {
  readonly publisher: Publisher
  readonly report: PullReport
  readonly lasting: ReloadState
}

/** A new state folder gets no notices, now or later. */
async function noticesAtStart(config: Config, { store }: DaemonContext): Promise<readonly UpgradeNotice[]> {
  if (await isNew(store)) await unlessUnreadable(remember(store), undefined)
  const parts = { config, store, lock: await lockRead(config), decisions: store.decisions.known }
  return unlessUnreadable(noticesOf(parts), [])
}

/** If the tokens cannot be read, everything but HTTP goes on, and HTTP accepts no token. */
async function readTokens(tokens: Tokens, { log }: DaemonContext): Promise<void> {
  try {
    await tokens.read()
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.error('tokens-not-read', { code: error.code, message: error.message })
  }
}
