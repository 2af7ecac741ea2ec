import { isDeepStrictEqual } from 'node:util'
import { refreshDecisions, refreshTokens, shareDecisions } from '../features/hub-of-several/shared-texts.ts'
import { forgetRemoved } from '../features/mcp-sources/mcp-sources.ts'
import { rosterOf } from '../features/rings/ring-roster.ts'
import type { Registry } from '../serve/registry.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { FOLLOWED_LOCK_ORIGIN, FOLLOWED_LOCK_TEXT } from '../sync/store/followed-lock.ts'
import { scansNameOf } from '../sync/store/scan-records.ts'
import { recordNameOf } from '../sync/store/source-records.ts'
import type { Tokens } from './access/tokens.ts'
import { compose } from './compose.ts'
import type { Composition, LoadedParts } from './compose.ts'
import { idsOf } from './config/config.ts'
import type { WholeConfig } from './configuration.ts'
import { loadItems } from './features.ts'
import { followServedDisabled, mendDecisions, readDecisions } from './pull/load-decisions.ts'
import { openPublisher } from './pull/open-publisher.ts'
import { PullReport } from './pull/pull-report.ts'
import { KnownLock } from './pull/trust/known-lock.ts'
import { expectLock } from './pull/trust/lock-rules.ts'
import { admissionOf } from './pull/trust/serving-policy.ts'
import { reactionsOf, startLasting } from './reactions.ts'
import type { DaemonReaction } from './reactions.ts'
import { newReloadState } from './reload-state.ts'
import type { ReloadState } from './reload-state.ts'
import { mayPublish } from './runtime/context.ts'
import type { DaemonContext } from './runtime/context.ts'
import type { AdoptedChange } from './runtime/hub-replica.ts'
import { tellLosses } from './status/lost-sources.ts'

/** All parts of a daemon. */
export interface DaemonParts extends LoadedParts, Composition {}

/**
 * The only writer of a state folder. It pulls each source on its schedule and swaps the catalog. It serves the stored
 * generation from the start, and no failure takes that away.
 */
export class Daemon implements AsyncDisposable {
  readonly config: WholeConfig
  readonly registry: Registry
  readonly parts: DaemonParts
  readonly #reloadState: ReloadState
  readonly #reactions: readonly DaemonReaction[]
  readonly #over = new AbortController()
  /** The decisions that the sources follow: a change by another process counts from here. */
  #followed: DaemonContext['store']['decisions']['known']
  #stopping: Promise<void> | undefined
  #ending: Promise<void> | undefined

  private constructor(loaded: LoadedParts, reloadState: ReloadState) {
    this.config = loaded.config
    this.registry = loaded.registry
    this.#reloadState = reloadState
    this.parts = { ...loaded, ...compose(loaded) }
    this.#reactions = reactionsOf(this.parts)
    // They end in the reverse order, before the pulls.
    for (const { part } of this.#reactions) this.parts.work.use(part)
    this.#followed = loaded.store.decisions.known
  }

  /**
   * Loads the last generation, except what must not be served. Pulls nothing before `poll` or `sync`. `before` is the
   * stopped daemon of the same state folder; the new daemon takes over its catalog, tokens and clients.
   */
  static async start(config: WholeConfig, context: DaemonContext, before?: Daemon): Promise<Daemon> {
    await expectLock(config)
    if (before === undefined) await shareDecisions(context)
    await readDecisions(context)
    await mendDecisions(context)
    const ids = idsOf(config)
    const lostBefore = before === undefined ? [] : before.parts.served.lost
    const { publisher, refused } = await openPublisher(context, ids, admissionOf(config), lostBefore)
    await followServedDisabled(publisher.catalog.snapshots, context)
    const isLess = before?.registry.catalog.snapshots.some(({ source }) => !ids.includes(source)) === true
    const reloadState = before === undefined ? await newReloadState(config, context) : before.#reloadState
    if (before === undefined) startLasting(reloadState, context.replica)
    const report = await PullReport.open(context.store.records, ids, { ...context, counts: reloadState.pulls })
    const { linking, names, views } = reloadState
    names.configure(config.limits.fetch)
    const lock = new KnownLock(config, report)
    // A hub of many sources without a scanner has none to read.
    if (config.gate?.asked.kind === 'scanner') for (const id of ids) await context.store.scans.read(id)
    // The parts that publish take the registry of the oldest ring.
    views.defineRings(rosterOf(config))
    const itemsOf = await loadItems()
    const daemon = new Daemon({ ...reloadState, ...context, config, publisher, report, lock, itemsOf }, reloadState)
    await linking.read()
    await lock.read()
    await daemon.parts.followedLock.refresh()
    views.define(config.packs)
    linking.configure(config)
    views.replace(publisher.catalogs)
    tellLosses(publisher.lost, context.log)
    await linking.settled()
    await readTokens(reloadState.tokens, context)
    const trigger = before === undefined ? 'start' : 'reload'
    // Other processes read the generation from disk: it must not keep naming content that must not be served.
    if ((refused.length > 0 || isLess) && mayPublish(context))
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

  /**
   * Starts to pull each source on its schedule, and each folder source when a file in it changes. Brings the folders
   * and the published branches of the configuration up to date.
   */
  poll(): void {
    // The daemon that takes over polls.
    if (this.#over.signal.aborted) return
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
    const ends = [await refreshTokens(this.parts.tokens, this.parts), await refreshDecisions(this.parts)] as const
    if (ends[1] === 'changed') await this.#followDecisions()
    const isWritten = decisions.unwritten === undefined && this.parts.tokens.unwritten === undefined
    return isWritten && !ends.includes('failed')
  }

  async #followDecisions(): Promise<void> {
    const { known } = this.parts.store.decisions
    const before = this.#followed
    this.#followed = known
    await this.parts.served.serveInSlices()
    this.parts.channels.followRecalls()
    // A skill that was disabled elsewhere may be at another place in what this process published meanwhile.
    if (mayPublish(this.parts)) await followServedDisabled(this.registry.catalog.snapshots, this.parts)
    if (this.parts.replica?.isLeading !== true) return
    // Each source follows the decision that another process has written about it.
    for (const id of idsOf(this.config))
      if (!isDeepStrictEqual(before.get(id), known.get(id))) this.parts.scheduler.trigger(id)
  }

  /** Stops all pulling and publishing. The current catalog stays served and readable. */
  async stop(): Promise<void> {
    this.#over.abort()
    // A second call waits for the same end.
    await (this.#stopping ??= this.parts.work.disposeAsync())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#ending ??= this.#end())
  }

  /** Reading for clients ends first: a pull that waits for the same server goes on. */
  async #end(): Promise<void> {
    await using _readers = this.parts.readers
    await this.parts.mcp.endReading()
    await this.stop()
    // A read since then may have withheld a skill: that is stored before the lock is released.
    await this.parts.served.settled()
  }
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
