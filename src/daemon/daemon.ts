import { isDeepStrictEqual } from 'node:util'
import type { LinkSync } from '../features/agent-folders/link-sync.ts'
import type { ChannelHost } from '../features/channel/channel-routes.ts'
import type { HubSources } from '../features/channel/hub-sources.ts'
import type { ChannelEnd } from '../features/channel/publish/channel-publisher.ts'
import type { RecalledContent, RecallEnd } from '../features/channel/recall/recalls.ts'
import type { AdoptedChange } from '../features/hub-of-several/hub-replica.ts'
import { refreshDecisions, refreshTokens, shareDecisions } from '../features/hub-of-several/shared-texts.ts'
import { FOLLOWED_LOCK_ORIGIN, FOLLOWED_LOCK_TEXT } from '../features/lock-repository/followed-lock.ts'
import type { MarketplaceHost } from '../features/marketplace/marketplaces.ts'
import { marketplaceScratch } from '../features/marketplace/publish/marketplace-scratch.ts'
import type { PublicationEnd } from '../features/marketplace/publish/publication-status.ts'
import type { PublishRequest } from '../features/marketplace/publish/publications.ts'
import type { McpDecisions } from '../features/mcp-sources/mcp-decisions.ts'
import { forgetRemoved } from '../features/mcp-sources/mcp-sources.ts'
import type { RingPromotion } from '../features/rings/ring-contents.ts'
import type { PromotionRequest } from '../features/rings/ring-promotions.ts'
import { rosterOf } from '../features/rings/ring-roster.ts'
import type { RingStatus } from '../features/rings/ring-status.ts'
import type { ScanEnd, ScanProgress, ScanRequest } from '../features/scan/scan-run.ts'
import type { Unready } from '../serve/http/health.ts'
import type { OAuthOptions } from '../serve/http/protected-resource.ts'
import type { Webhooks } from '../serve/http/webhook-endpoint.ts'
import type { Serving } from '../serve/mcp/core/methods.ts'
import { SessionJournal } from '../serve/mcp/transports/session-journal.ts'
import type { SessionLog } from '../serve/mcp/transports/session-store.ts'
import type { SharedPageSessions } from '../serve/page/http/page-sessions.ts'
import type { Registry } from '../serve/registry.ts'
import { diagnosticsAbout, type ContractDiagnostic } from '../sync/catalog/contract-diagnostics.ts'
import type { Trigger } from '../sync/model/generation.ts'
import type { Outcome } from '../sync/model/outcome.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { scansNameOf } from '../sync/store/scan-records.ts'
import { recordNameOf } from '../sync/store/source-records.ts'
import type { Tokens } from './access/tokens.ts'
import { webhooksOf } from './access/webhooks.ts'
import { compose } from './compose.ts'
import type { Composition, LoadedParts } from './compose.ts'
import { idsOf } from './config/config.ts'
import type { ChannelFolder, Config } from './config/config.ts'
import type { Candidates } from './pull/candidates.ts'
import type { DecisionDetails, HeldRevision, Verb } from './pull/decide.ts'
import { mendDecisions, readDecisions, recogniseDisabled } from './pull/load-decisions.ts'
import { openPublisher } from './pull/open-publisher.ts'
import type { RollbackTarget, RolledBack } from './pull/rollback.ts'
import type { FetchedAmount } from './pull/schedule/pull-activity.ts'
import { KnownLock } from './pull/trust/known-lock.ts'
import { expectLock, lockRead } from './pull/trust/lock-rules.ts'
import { admissionOf, lifecyclesIn } from './pull/trust/serving-policy.ts'
import { reactionsOf, startLasting } from './reactions.ts'
import type { DaemonReaction } from './reactions.ts'
import { newReloadState } from './reload-state.ts'
import type { ReloadState } from './reload-state.ts'
import type { DaemonContext } from './runtime/context.ts'
import { OperatorError } from './runtime/operator-error.ts'
import type { Disablement } from './status/disablement.ts'
import { tellLosses } from './status/lost-sources.ts'
import { daemonFiguresOf } from './status/metrics/daemon-figures.ts'
import type { DaemonFigures } from './status/metrics/metrics.ts'
import { servingOf } from './status/page/mcp-serving.ts'
import type { PageData } from './status/page/page-data.ts'
import { PullReport } from './status/pull-report.ts'
import type { SourceNotes } from './status/pull-result.ts'
import type { HttpStatus, Status } from './status/status.ts'
import { lackingIn } from './status/unserved-sources.ts'
import { isNew, upgradeDiagnostics, remember, unlessUnreadable } from './status/upgrade-notices.ts'
import type { UpgradeDiagnostic } from './status/upgrade-notices.ts'

/** All parts of a daemon. */
export interface DaemonParts extends LoadedParts, Composition {}

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
  readonly lock: KnownLock
  /** The links from the folders of agents. */
  readonly linking: LinkSync
  readonly #reloadState: ReloadState
  readonly parts: DaemonParts
  readonly #reactions: readonly DaemonReaction[]
  readonly #over = new AbortController()
  /** The decisions that the sources follow: a change by another process counts from here. */
  #followed: DaemonContext['store']['decisions']['known']

  private constructor(loaded: LoadedParts, reloadState: ReloadState) {
    const { config, registry, tokens, oauth, lock, linking } = loaded
    this.config = config
    this.registry = registry
    this.tokens = tokens
    this.oauth = oauth
    this.lock = lock
    this.linking = linking
    this.#reloadState = reloadState
    this.parts = { ...loaded, ...compose(loaded) }
    this.#reactions = reactionsOf(this.parts)
    this.#followed = loaded.store.decisions.known
  }

  /**
   * Loads the last generation, except what must not be served. Pulls nothing before `poll` or `sync`. `before` is the
   * stopped daemon of the same state folder; the new daemon takes over its catalog, tokens and clients.
   */
  static async start(config: Config, context: DaemonContext, before?: Daemon): Promise<Daemon> {
    await expectLock(config)
    if (before === undefined) await shareDecisions(context)
    await readDecisions(context)
    await mendDecisions(context)
    const ids = idsOf(config)
    const lostBefore = before === undefined ? [] : before.parts.served.lost
    const { publisher, refused } = await openPublisher(context, ids, admissionOf(config), lostBefore)
    await recogniseDisabled(publisher.catalog.snapshots, context)
    const isLess = before?.registry.catalog.snapshots.some(({ source }) => !ids.includes(source)) === true
    const reloadState =
      before === undefined
        ? await newReloadState(config, context, await noticesAtStart(config, context))
        : before.#reloadState
    if (before === undefined) startLasting(reloadState, context.replica)
    const report = await PullReport.open(context.store.records, ids, { ...context, counts: reloadState.pulls })
    const lock = new KnownLock(config)
    // A hub of many sources without a scanner has none to read.
    if (config.gate?.asked.kind === 'scanner') for (const id of ids) await context.store.scans.read(id)
    // The parts that publish take the registry of the oldest ring.
    reloadState.views.defineRings(rosterOf(config))
    const daemon = new Daemon({ ...reloadState, ...context, config, publisher, report, lock }, reloadState)
    await daemon.linking.read()
    await daemon.lock.read()
    await daemon.parts.followedLock.refresh()
    reloadState.views.define(config.packs)
    daemon.linking.configure(config)
    reloadState.views.replace(publisher.catalogs)
    tellLosses(publisher.lost, context.log)
    await daemon.linking.settled()
    await readTokens(daemon.tokens, context)
    const trigger = before === undefined ? 'start' : 'reload'
    // Other processes read the generation from disk: it must not keep naming content that must not be served.
    if ((refused.length > 0 || isLess) && daemon.publishes)
      await daemon.parts.served.publish(new Map(), { action: 'withdraw', trigger })
    // Last, since it cannot be undone: if one of the steps above fails, the previous configuration stays in use.
    await forgetRemoved(config, context)
    if (before !== undefined) {
      daemon.parts.folders.takeOver(before.parts.folders)
      daemon.parts.publications.takeOver(before.parts.publications)
      daemon.parts.channels.takeOver(before.parts.channels)
    }
    daemon.parts.folders.watch()
    return daemon
  }

  /** Notifies the operator once of the changes in behavior since the version that last wrote the state folder. */
  async tellChanges(): Promise<void> {
    const { store, log, notices } = this.parts
    for (const { code: change, message } of notices) log.warn('behaviour-changed', { change, message })
    await unlessUnreadable(remember(store), undefined)
  }

  /** The operator's verbs about the skills of other MCP servers. */
  get mcpDecisions(): McpDecisions {
    return this.parts.mcpDecisions
  }

  /** Inspects the upstream of a source. Nothing is served as a result. */
  get candidates(): Candidates {
    return this.parts.candidates
  }

  /** The sources of the hub that is followed as a whole, if there is one. */
  get hub(): HubSources {
    return this.parts.hub
  }

  /** The data that the web page shows. */
  get page(): PageData {
    return this.parts.page
  }

  get serving(): Serving {
    const { config, views, store } = this.parts
    const { contents, mcp, search } = this.parts
    return servingOf(
      {
        config,
        reading: {
          read: (kept, file, trace) => contents.read(kept, file, trace),
          isRefused: (kept) => mcp.contents.isRefused(kept),
        },
        host: {
          look: (source, mostMs) => this.look(source, mostMs),
          lacking: (catalog) => lackingIn(catalog, config, store),
        },
        finder: search,
      },
      views,
    )
  }

  /** The reasons why requests should not be sent to this daemon; empty if it is ready. */
  get unready(): readonly Unready[] {
    return this.parts.status.unready
  }

  /** True if the state folder cannot be written: stored content is served, and nothing new. */
  get isReadOnly(): boolean {
    return this.parts.readOnly?.() !== undefined
  }

  /** True if the database of a hub of several processes cannot be used: stored content is served, and nothing new. */
  get isApart(): boolean {
    return this.parts.replica?.status.away !== undefined
  }

  /** True if this process may publish: the disk takes writes, and no other process of the hub leads. */
  get publishes(): boolean {
    return !this.isReadOnly && this.parts.replica?.isLeading !== false
  }

  /** The webhooks through which hosts report changes of their sources. */
  get webhooks(): Webhooks {
    return webhooksOf(this.config, {
      ...this.parts,
      nudge: (id) => this.parts.scheduler.trigger(id),
      nudgeLock: () => this.parts.followedLock.nudge(),
    })
  }

  /** Opens the log in which client sessions outlive this process: in the shared store, or else in the state folder. */
  openSessions(): SessionLog & AsyncDisposable {
    const lifecycles = lifecyclesIn(this.config)
    return this.#reloadState.sessions ?? new SessionJournal({ ...this.parts, lifecycles })
  }

  /**
   * Applies what other processes of the hub did with client sessions, sign-ins and channels. Call it when a change is announced, before the
   * catalog is replaced, and every few seconds: the sessions of a process that does not are taken by others.
   */
  async refreshSessions(): Promise<void> {
    await this.#reloadState.sessions?.refresh()
    // Neither counts the version of the database up.
    await this.parts.pageSessions?.refresh()
    await this.parts.channels.refresh()
  }

  /** The database that the processes of the hub share; `undefined` if this one is alone. */
  get shared(): DaemonContext['shared'] {
    return this.parts.shared
  }

  /** The sign-ins to the page that other processes of the hub know too. */
  get pageSessions(): SharedPageSessions | undefined {
    return this.parts.pageSessions
  }

  /** The channels that other daemons follow. */
  get channels(): ChannelHost {
    return this.parts.channels
  }

  /** The services of the plugin marketplace. */
  get marketplace(): Omit<MarketplaceHost, 'config'> {
    const { store, log } = this.parts
    return {
      openScratch: marketplaceScratch(store),
      onLeftOut: ({ place, why }) => log.warn('marketplace-skill-left-out', { skill: place, why }),
    }
  }

  /**
   * Starts to pull each source on its schedule, and each folder source when a file in it changes. Brings the folders
   * and the published branches of the configuration up to date.
   */
  poll(): void {
    const isLeading = this.parts.replica?.isLeading !== false
    for (const { isForAll, start } of this.#reactions) if (isForAll || isLeading) start?.()
  }

  /**
   * Serves what another process of the hub has published, and shows what it has recorded. The store of this process has
   * it already.
   */
  async adopt({ head, files }: AdoptedChange): Promise<void> {
    const { followedLock, puller, served } = this.parts
    if (files.has(FOLLOWED_LOCK_TEXT) || files.has(FOLLOWED_LOCK_ORIGIN)) await followedLock.refresh()
    const ids = idsOf(this.config)
    await this.parts.report.readAgain(ids.filter((id) => files.has(recordNameOf(id))))
    for (const id of ids) if (files.has(scansNameOf(id))) await this.parts.store.scans.read(id)
    if (!head) return
    await served.adopt(admissionOf(this.config))
    await puller.collectReplaced(this.#over.signal)
  }

  /**
   * Takes over the decisions and the tokens that other processes of the hub have changed. Returns false if some of that
   * failed, and must be tried again.
   */
  async refresh(): Promise<boolean> {
    const { decisions } = this.parts.store
    const ends = [await refreshTokens(this.tokens, this.parts), await refreshDecisions(this.parts)] as const
    if (ends[1] === 'changed') await this.#followDecisions()
    const isWritten = decisions.unwritten === undefined && this.tokens.unwritten === undefined
    return isWritten && !ends.includes('failed')
  }

  async #followDecisions(): Promise<void> {
    const { known } = this.parts.store.decisions
    const before = this.#followed
    this.#followed = known
    await this.parts.served.serveInSlices()
    this.parts.channels.followRecalls()
    // A skill that was disabled elsewhere may be at another place in what this process published meanwhile.
    if (this.publishes) await recogniseDisabled(this.registry.catalog.snapshots, this.parts)
    if (this.parts.replica?.isLeading !== true) return
    // Each source follows the decision that another process has written about it.
    for (const id of idsOf(this.config))
      if (!isDeepStrictEqual(before.get(id), known.get(id))) this.parts.scheduler.trigger(id)
  }

  /**
   * Pulls a source for another process of the hub. Throws the error of a pull that failed. A report of a change, which
   * several processes may have got, is only scheduled, as one that came here.
   */
  async pull(id: SourceId, trigger: Trigger): Promise<{ readonly kind: Outcome['kind'] }> {
    if (trigger === 'webhook' || trigger === 'change') {
      this.parts.scheduler.trigger(id)
      return { kind: 'unchanged' }
    }
    const outcome = await this.parts.puller.request(id, trigger)
    if (outcome.kind === 'failed') throw outcome.error
    return { kind: outcome.kind }
  }

  /** Publishes the marketplace now. Rejects if nothing can be published. */
  async publish(asked: PublishRequest, signal: AbortSignal): Promise<readonly PublicationEnd[]> {
    return this.parts.publications.publish(asked, signal)
  }

  /** Writes the channel to a folder now. Rejects if that fails. */
  async publishTo(folder: ChannelFolder, signal: AbortSignal): Promise<ChannelEnd> {
    return this.parts.channels.publish(folder, signal)
  }

  /** Checks the repository of the lock now, if it is followed from one. What fails is in the status. */
  async followLock(signal: AbortSignal): Promise<void> {
    await this.parts.followedLock.look(signal)
  }

  /** Adds the HTTP side to the status from now on. */
  isServedBy(http: () => HttpStatus): void {
    this.parts.status.isServedBy(http)
  }

  /** Pulls all sources, or the named ones, now. Returns the outcome for each; `onFetched` gets their progress. */
  async sync(
    ids: readonly SourceId[] = idsOf(this.config),
    onFetched?: (source: SourceId, fetched: FetchedAmount) => void,
  ): Promise<ReadonlyMap<SourceId, Outcome>> {
    const { activity, folders, puller } = this.parts
    using watching = new DisposableStack()
    if (onFetched !== undefined)
      for (const id of ids) watching.use(activity.watch(id, (fetched) => onFetched(id, fetched)))
    const ends = ids.map(async (id) => [id, await puller.request(id, 'command')] as const)
    const outcomes = new Map(await Promise.all(ends))
    folders.follow()
    await this.#linked()
    return outcomes
  }

  /**
   * Checks the stale sources, or the given one even if it is fresh, because a client requests their content. Resolves
   * when the result is served or the wait is over (default: `serve.tools.wait`). Returns the time left of that wait.
   */
  async look(id?: SourceId, mostMs?: number): Promise<number> {
    return this.parts.scheduler.refresh(id, mostMs)
  }

  /** The revision of a source that waits for a decision, and the reason. Throws if nothing waits. */
  waiting(id: SourceId, verb: 'approve' | 'reject'): HeldRevision {
    return this.parts.decisions.waiting(id, verb)
  }

  /** Stores the operator's decision about a source. The next pull follows it. */
  async decide(id: SourceId, verb: Verb, named: DecisionDetails = {}): Promise<void> {
    await this.parts.decisions.decide(id, verb, named)
  }

  /** Takes a skill out of service at once, or brings it back; the skill need not exist. */
  async disable(id: SourceId, path: string, disabled: boolean, sourceOnly = false): Promise<Disablement> {
    const disablement = await this.parts.decisions.disable(id, path, disabled, sourceOnly)
    await this.#linked()
    return disablement
  }

  /** Takes a content out of service at once, here and at the followers of the channels; it need not be here. */
  async recall(content: RecalledContent, reason: string): Promise<RecallEnd> {
    const end = await this.parts.recalls.recall(content, reason)
    await this.#linked()
    return end
  }

  /** The report of the recall whose id begins with these digits. */
  reachOf(id: string): ReturnType<Composition['recalls']['reachOf']> {
    return this.parts.recalls.reachOf(id)
  }

  /** Ends the recall whose id begins with these digits. */
  async revokeRecall(id: string): Promise<RecallEnd> {
    const end = await this.parts.recalls.revoke(id)
    await this.#linked()
    return end
  }

  /**
   * Serves a previous revision again. With `hold`, it stays until the operator releases it; otherwise the revision it
   * replaces is skipped, and the next commit is taken.
   */
  async rollback(target: RollbackTarget, hold: boolean, signal: AbortSignal): Promise<readonly RolledBack[]> {
    const done = await this.parts.rollbacks.to(target, hold, signal)
    await this.#linked()
    return done
  }

  /** The rings, with what each serves that the first does not. */
  get rings(): readonly RingStatus[] {
    return this.parts.rings.status
  }

  /** Has rings take now what the rings before them serve. */
  async promote(asked: PromotionRequest): Promise<readonly RingPromotion[]> {
    const promotions = await this.parts.rings.promote(asked)
    await this.#linked()
    return promotions
  }

  /** Resolves when the promotions that were due are served, or have failed. */
  async promoted(): Promise<void> {
    await this.parts.rings.settled()
  }

  /** Keeps a ring from taking anything of a source, or, without a reason, ends that. */
  async holdRing(id: SourceId, ring: string, reason: string | undefined): Promise<void> {
    await this.parts.decisions.holdRing(id, ring, reason)
  }

  /** Resolves when the folders of agents lead to what is served now. */
  async #linked(): Promise<void> {
    await this.linking.settled()
    await this.parts.folders.settled()
  }

  /**
   * Scans what is served by the scanner of the gate. `withholdsAll`: takes what it refuses out of service, however much
   * that is.
   */
  async scan(
    request: ScanRequest,
    onProgress: (progress: ScanProgress) => void,
    signal: AbortSignal,
  ): Promise<ScanEnd> {
    if (!this.publishes)
      throw new OperatorError('bad-request', 'Cannot scan here: another process writes; run it where that one runs')
    const end = await this.parts.scans.scan(request, onProgress, signal)
    await this.#linked()
    return end
  }

  /** The problems between skills of the contract in which one of these sources has a part. */
  async contractProblems(ids: readonly SourceId[]): Promise<readonly ContractDiagnostic[]> {
    return diagnosticsAbout(new Set(ids), await this.parts.contract.diagnostics())
  }

  /** The facts about a source that are reported in addition to the outcome of its pull. */
  sourceNotes(id: SourceId): SourceNotes {
    return this.parts.status.sourceNotes(id)
  }

  /** The figures of the daemon, for metrics. */
  async figures(): Promise<DaemonFigures> {
    return daemonFiguresOf(this.parts)
  }

  /** `leavesFindings` leaves out the findings in skills, which take longest to collect. */
  status(leavesFindings = false): Status {
    return this.parts.status.status(leavesFindings)
  }

  /** The status in one line, for a service manager. It is sent often, so it must be cheap. */
  get standing(): string {
    return this.parts.status.line
  }

  /** Stops all pulling and publishing. The current catalog stays served and readable. */
  async stop(): Promise<void> {
    this.#over.abort()
    for (const { part } of this.#reactions.toReversed()) await part[Symbol.asyncDispose]()
    await this.parts.puller[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { mcp, page, search, reader } = this.parts
    await mcp.endReading()
    await this.stop()
    await page[Symbol.asyncDispose]()
    await search[Symbol.asyncDispose]()
    await mcp[Symbol.asyncDispose]()
    await reader[Symbol.asyncDispose]()
    await this.linking.settled()
    await this.parts.contract.diagnostics()
  }
}

/** A new state folder gets no notices, now or later. */
async function noticesAtStart(config: Config, { store }: DaemonContext): Promise<readonly UpgradeDiagnostic[]> {
  if (await isNew(store)) await unlessUnreadable(remember(store), undefined)
  const parts = { config, store, lock: await lockRead(config), decisions: store.decisions.known }
  return unlessUnreadable(upgradeDiagnostics(parts), [])
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
