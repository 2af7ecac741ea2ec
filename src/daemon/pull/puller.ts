import { setImmediate as turn } from 'node:timers/promises'
import type { Registry } from '../../serve/registry.ts'
import { outdatedIn } from '../../sync/decisions/approvals.ts'
import { isAbout, settled, unapproved, UNDECIDED } from '../../sync/decisions/decisions.ts'
import type { SourceDecision } from '../../sync/decisions/decisions.ts'
import type { GenerationCause, Trigger } from '../../sync/model/generation.ts'
import type { Outcome, Updated, Waiting } from '../../sync/model/outcome.ts'
import type { ServerListing } from '../../sync/model/server-listing.ts'
import type { Snapshot, Current } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource, Source } from '../../sync/model/source.ts'
import { NotSigned, SyncError, unsuppressed, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Fallback } from '../../sync/pull/fallback-source.ts'
import type { Changed, Loss, Publisher } from '../../sync/pull/publisher.ts'
import type { PullOrders, PullContext } from '../../sync/pull/pull-context.ts'
import { pull } from '../../sync/pull/pull.ts'
import { snapshotWithTexts } from '../../sync/survey/listing-hidden-text.ts'
import { snapshotWithMismatches } from '../../sync/survey/listing-mismatches.ts'
import { FolderHashes } from '../../sync/upstream/folder/folder-hashes.ts'
import { FetchThreads } from '../../sync/upstream/git/fetch-threads.ts'
import { SharedListings, type RequestedListing } from '../../sync/upstream/git/shared-ls-refs.ts'
import { refsOf } from '../../sync/upstream/open.ts'
import type { Reach } from '../../sync/upstream/open.ts'
import type { FetchedBytes } from '../base/fetched-bytes.ts'
import type { PlaceLimits } from '../base/host-semaphore.ts'
import { configuredIn, foldersIn } from '../config/config.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import type { Keyring } from '../credentials/keyring.ts'
import { hostOf, leftAlone } from '../schedule/host-backoff.ts'
import type { HostBackoff } from '../schedule/host-backoff.ts'
import { KeyedQueue } from '../schedule/keyed-queue.ts'
import { PullActivity } from '../schedule/pull-activity.ts'
import { throttled } from '../schedule/throttled-upstream.ts'
import type { PullReport } from '../status/report.ts'
import type { KnownLock } from '../trust/known-lock.ts'
import { followedBy, NotLocked } from '../trust/lock-rules.ts'
import { refusalOf, revocationOf } from '../trust/serving-policy.ts'
import { followDisabled, readDecisions } from './load-decisions.ts'
import { keptByLock } from './locked-snapshots.ts'
import { LostFolders } from './missing-folders.ts'
import { cleaned, pullingOf } from './pull-context.ts'
import type { ReachingParts } from './pull-context.ts'

/** The dependencies of pulls, in addition to those of the daemon. */
export interface PullerParts extends ReachingParts {
  /** Fetches the files of an MCP server in advance, if the operator wants them before they are read. */
  readonly fetchAll: (source: McpSource, signal: AbortSignal) => Promise<void>
  readonly config: Config
  readonly registry: Registry
  readonly publisher: Publisher
  readonly report: PullReport
  readonly keyring: Keyring
  readonly lock: KnownLock
  readonly hosts: HostBackoff
  /** Receives the number of fetched bytes of files. */
  readonly fetched: FetchedBytes
  /** The server from which the locked skills of a source are read if their commit vanishes. */
  readonly fallbackTo: (id: SourceId) => Fallback
  /** Resolves when the agents' folders link to what is served, and to nothing that may be collected. */
  readonly linked: () => Promise<void>
}

/**
 * Brings the content of sources into service. Each pull runs in the queue of its source, from the request until its
 * outcome is served and reported.
 */
export class Puller implements AsyncDisposable {
  readonly hosts: HostBackoff
  readonly attempts: PullActivity
  readonly #config: Config
  readonly #parts: PullerParts
  readonly #registry: Registry
  readonly #publisher: Publisher
  readonly #report: PullReport
  readonly #keyring: Keyring
  readonly #lanes: KeyedQueue<Outcome>
  /** The held outcome of the last pull of a source, if it needed the fetched content. */
  readonly #waiting = new Map<SourceId, Waiting>()
  readonly #listings = new SharedListings()
  readonly #threads = new FetchThreads()
  readonly #lostFolders: LostFolders
  /** For each source whose next pull has not begun: its part in the listing. */
  readonly #requested = new Map<SourceId, RequestedListing>()
  /** For each source that is a folder. */
  readonly #hashes = new Map<SourceId, FolderHashes>()
  /** Sources with a damaged stored file: the next pull fetches them anew, known or not. */
  readonly #damaged = new Set<SourceId>()
  /** The errors of reported runs that lost their slot: all callers that waited for such a run get the same error. */
  readonly #reported = new WeakSet<SyncError>()

  constructor(parts: PullerParts) {
    this.#parts = parts
    this.#config = parts.config
    this.#registry = parts.registry
    this.#publisher = parts.publisher
    this.#report = parts.report
    this.#keyring = parts.keyring
    this.#lostFolders = new LostFolders(parts.store.skills, parts.clock)
    this.hosts = parts.hosts
    this.attempts = new PullActivity(foldersIn(parts.config), parts.clock)
    const { fetches, fetch } = parts.config.limits
    // Resolving a ref is one short request, while a fetch can take minutes: slow hosts must not keep others from
    // resolving.
    const looking = withSlow({ concurrency: 4 * fetches.concurrency, perHost: 2 * fetches.perHost })
    const fetching = withSlow(fetches)
    // The fetch's own timeout error is more precise than that of the queue.
    const timeoutMs = fetch.totalMs + LANE_MARGIN_MS
    this.#lanes = new KeyedQueue({ looking, fetching, timeoutMs, graceMs: GRACE_MS }, parts.clock)
  }

  /** The time since the last pull of a source ended, with any outcome. Infinite if there was none. */
  sinceAttemptMs(source: SourceId): number {
    const configured = configuredIn(this.#config, source)
    return this.attempts.sinceMs(source, this.#report.recordOf(configured.source).lastAttempt)
  }

  currentOf(source: SourceId): Current | undefined {
    return this.#publisher.currentOf(source)
  }

  /** The sources whose served content is lost on disk, until it is restored. */
  get lost(): readonly Loss[] {
    return this.#publisher.lost
  }

  /** True if a change at this path of a folder can affect what is served of it. */
  async isOfUse(source: SourceId, path: string): Promise<boolean> {
    return this.#hashes.get(source)?.isOfUse(path) ?? true
  }

  /**
   * Stops the running and the waiting pull of a source. Resolves when they have ended, or when the grace period is
   * over.
   */
  async stop(source: SourceId): Promise<void> {
    await this.#lanes.stop(source)
  }

  /** Marks a stored file of the source as damaged. Returns true if that was not known yet. */
  markDamaged(source: SourceId): boolean {
    if (this.#damaged.has(source)) return false
    this.#damaged.add(source)
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lanes[Symbol.asyncDispose]()
    await this.#threads[Symbol.asyncDispose]()
    // A pull that ignores its signal publishes nothing from here on, but may be in the middle of a publish.
    await this.#publisher.settled()
  }

  /**
   * Pulls as soon as there is a slot. Rejects with an AbortError if stopped; any other rejection is fatal to the
   * process.
   */
  async request(configured: ConfiguredSource, trigger: Trigger): Promise<Outcome> {
    const { source } = configured
    // A request that joins a waiting pull renews its listing: a listing that began before is of no use to it.
    this.#requested.get(source.id)?.[Symbol.dispose]()
    this.#requested.set(source.id, this.#listings.request(repositoryOf(configured), refsOf(source)))
    try {
      return await this.#lanes.request(source.id, hostOf(source), (signal, fetching) => {
        return this.#run(configured, { trigger, signal, fetching })
      })
    } catch (thrown) {
      const error = unsuppressed(thrown)
      // The queue took the slot from a pull that did not end: that is an outcome too.
      if (!(error instanceof SyncError)) throw error
      return await this.#lost(source, error)
    } finally {
      this.attempts.end(source.id)
    }
  }

  /** Reports once per run, however many callers waited for it. */
  async #lost(source: Source, error: SyncError): Promise<Outcome> {
    const outcome: Outcome = { kind: 'failed', error }
    if (this.#reported.has(error)) return outcome
    this.#reported.add(error)
    await this.#report.outcome(source, outcome, this.#config.limits.fetch.totalMs + LANE_MARGIN_MS)
    return outcome
  }

  /** Runs one pull in its queue and reports the outcome. */
  async #run(configured: ConfiguredSource, turn: Turn): Promise<Outcome> {
    const { source } = configured
    using _underWay = this.attempts.begin(source.id)
    using listing = this.#requested.get(source.id)
    this.#requested.delete(source.id)
    const { store, clock, redactor } = this.#parts
    const startMs = clock.monotonicMs()
    // Runs even if the source cannot be reached.
    if (source.kind === 'mcp') await this.judge(source, turn.trigger)
    // Checked here and not at the request: another source of the host may have received a backoff meanwhile.
    const closedMs = this.hosts.closedMs(hostOf(source))
    if (closedMs > 0) return { kind: 'failed', error: leftAlone(source.id, closedMs) }
    this.attempts.seen(source.id)
    const outcome = cleaned(await this.#pull(configured, turn, listing), redactor)
    await this.#report.outcome(source, outcome, clock.monotonicMs() - startMs)
    const isTaken = outcome.kind === 'updated' || outcome.kind === 'unchanged'
    if (source.kind === 'mcp' && isTaken) await this.#parts.fetchAll(source, turn.signal)
    // Above the disk limit no fetch starts, so each attempt tries to collect.
    if (outcome.kind === 'updated' || store.bytes > this.#config.limits.disk.bytes) await this.#collect(turn.signal)
    return outcome
  }

  /**
   * Applies the findings in fetched files of an MCP server to what is served. It does not wait for a pull: a server
   * that hangs must not keep a skill in service.
   */
  async judge(source: McpSource, trigger: Trigger): Promise<void> {
    if (await this.#isAmended(source, trigger)) await this.serveInSlices()
  }

  /** Returns true if that created a generation to serve. */
  async #isAmended({ id, hiddenUnicode }: McpSource, trigger: Trigger): Promise<boolean> {
    const { store, clock } = this.#parts
    const change = async (snapshot: Snapshot): Promise<Snapshot> => {
      const found = snapshotWithMismatches(snapshot, await store.upstreams.mismatches(id))
      return snapshotWithTexts(found, await store.upstreams.texts(id), hiddenUnicode)
    }
    return this.#publisher.amend(id, change, { action: 'update', trigger, source: id }, clock.now())
  }

  /** The context of one pull. */
  #contextOf(configured: ConfiguredSource, { fetching }: Turn, listing: RequestedListing | undefined): PullContext {
    const { source, fallback } = configured
    const threads = this.#threads
    const reach = { ...this.#reachOf(source), threads, ...(listing && { listing }) }
    const context = pullingOf(configured, this.#config, this.#parts, this.#keyring, reach)
    const onBytes = (bytes: number): void => this.#parts.fetched.add(source.id, bytes)
    const manners = { source: source.id, host: hostOf(source), hosts: this.hosts, fetching, onBytes }
    return {
      ...context,
      open: (opened, scratch) => throttled(context.open(opened, scratch), manners),
      onFetchExpected: () => threads.prepare(),
      onResolved: (revision) => this.#report.resolved(source, revision),
      ...(fallback !== undefined && { fallback: this.#parts.fallbackTo(fallback) }),
    }
  }

  #reachOf(source: Source): Partial<Reach> {
    const { clock, redactor } = this.#parts
    const onListing = ({ ttlMs }: ServerListing): void => this.attempts.lists(source.id, ttlMs)
    const onAddress = (url: string): void => {
      this.#report.found(source, isSameAddress(url, source.url) ? undefined : redactor.clean(url))
    }
    return { onAddress, onListing, ...(source.kind === 'directory' && { hashes: this.#hashesOf(source.id), clock }) }
  }

  #hashesOf(id: SourceId): FolderHashes {
    const known = this.#hashes.get(id) ?? new FolderHashes(() => this.#parts.clock.now().getTime())
    this.#hashes.set(id, known)
    return known
  }

  async #pull(configured: ConfiguredSource, turn: Turn, listing: RequestedListing | undefined): Promise<Outcome> {
    const { source } = configured
    const { trigger, signal } = turn
    const current = this.#publisher.currentOf(source.id)
    const orders = await this.#ordersOf(configured, current)
    if ('kind' in orders) return this.#ended(source, orders, trigger, signal)
    const pulled = await pull(source, current, orders, this.#contextOf(configured, turn, listing), signal)
    await this.#keyring.heard(configured, pulled, signal)
    signal.throwIfAborted()
    return this.#ended(source, pulled, trigger, signal)
  }

  /** The orders for a pull, or its outcome if it must not run. */
  async #ordersOf(configured: ConfiguredSource, current: Current | undefined): Promise<PullOrders | Outcome> {
    const { source } = configured
    try {
      await this.#remake(source)
      const decision = await this.#decisionOf(source.id)
      const locked = await this.#parts.lock.entryOf(source, decision)
      if (decision.paused) return await this.#pausedAt(configured, current)
      const { offline } = this.#config.mode
      const isDamaged = await this.#isDamaged(source.id, current)
      const waiting = this.#waiting.get(source.id)
      const { followed } = this.#report.recordOf(source)
      const ofLock = locked !== undefined && { locked, isLockDemanded: followedBy(this.#config, source) !== undefined }
      return { decision, offline, waiting, followed, isDamaged, ...ofLock }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      return { kind: 'failed', error, ...(error instanceof NotLocked && { withdraw: true }) }
    }
  }

  /**
   * Recreates removed folders of the store. The content is written again at the end of the pull, and links are restored
   * by this.
   */
  async #remake({ id }: Source): Promise<void> {
    const { store, log } = this.#parts
    if (!(await store.folder.remake())) return
    log.warn('store-mended', { source: id })
    this.serve()
  }

  async #isDamaged(id: SourceId, current: Current | undefined): Promise<boolean> {
    if (current !== undefined && (await this.#lostFolders.hasLost(current.snapshot)) && this.markDamaged(id))
      this.#parts.log.warn('content-damaged', {
        source: id,
        message: 'The store has lost folders of what is served; they are taken again',
      })
    return this.#damaged.has(id)
  }

  /** Throws if the decisions cannot be read. The operator may have repaired them since the last attempt. */
  async #decisionOf(id: SourceId): Promise<SourceDecision> {
    const { decisions } = this.#parts.store
    if (decisions.isFailing || decisions.loss !== undefined) {
      await readDecisions(this.#parts)
      this.serve()
    }
    return decisions.of(id)
  }

  #decidedOf(id: SourceId): SourceDecision {
    return this.#parts.store.decisions.known.get(id) ?? UNDECIDED
  }

  /** Checks nothing upstream, but withdraws what the lock or the signatures revoke. */
  async #pausedAt({ source }: ConfiguredSource, current: Current | undefined): Promise<Outcome> {
    const error = current && (await revocationOf(this.#config, current.snapshot, this.#decidedOf(source.id)))
    if (error instanceof NotLocked || error instanceof NotSigned) return { kind: 'failed', error, withdraw: true }
    return { kind: 'held', revision: undefined, reason: { code: 'paused', message: `"${source.id}" is paused` } }
  }

  /** Applies the end of a pull to what is served. */
  async #ended(source: Source, outcome: Outcome, trigger: Trigger, signal: AbortSignal): Promise<Outcome> {
    if (outcome.kind === 'held' && TAKES_A_LOOK.has(outcome.reason.code)) this.#waiting.set(source.id, outcome)
    else this.#waiting.delete(source.id)
    try {
      if (outcome.kind === 'updated') await this.#serve(source, outcome, trigger, signal)
      else if (outcome.kind === 'failed' && outcome.withdraw) await this.#withdraw(source, trigger, signal)
      // A failed disk is reported already.
      else if (outcome.kind !== 'failed' || outcome.error.code !== 'store-failed')
        await this.#mend(source, trigger, signal)
      return outcome
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      // A disk failure must not hide what the operator has to know of the source.
      const isTold = outcome.kind === 'held' || (outcome.kind === 'failed' && outcome.withdraw !== true)
      return isTold ? outcome : { kind: 'failed', error }
    }
  }

  async #serve({ id }: Source, updated: Updated, trigger: Trigger, signal: AbortSignal): Promise<void> {
    const { held, snapshot, from, rewritten } = updated
    // A gate can take long, so lock and signers are checked again now.
    const refusal = await refusalOf(this.#config, snapshot, this.#decidedOf(id))
    if (refusal !== undefined) throw refusal
    await this.#revokeOutdated(snapshot)
    const cause: GenerationCause = { action: 'update', trigger, source: id, ...(rewritten && { rewritten }) }
    await this.publish(new Map([[id, { held, snapshot }]]), cause, signal)
    this.#parts.log.recovery('served-lost', id)
    this.#damaged.delete(id)
    // Decisions about a candidate are settled when the source has moved on. A restored revision has not moved.
    if (from === undefined) await this.#parts.store.decisions.change(id, unapproved)
    else if (!isAbout(from, snapshot.revision)) await this.#parts.store.decisions.change(id, settled)
  }

  /** Revokes on disk first: after a kill, a skill may wait for approval, but is never served without review. */
  async #revokeOutdated(snapshot: Snapshot): Promise<void> {
    const { decisions } = this.#parts.store
    for (const path of outdatedIn(snapshot, decisions.approvals)) {
      await decisions.approve(snapshot.source, path, undefined)
      this.#parts.log.warn('approval-revoked', { source: snapshot.source, skill: path })
    }
  }

  async #withdraw({ id }: Source, trigger: Trigger, signal: AbortSignal): Promise<void> {
    if (this.#publisher.currentOf(id) === undefined) return
    await this.publish(new Map([[id, undefined]]), { action: 'withdraw', trigger, source: id }, signal)
  }

  /** Rewrites from memory what the disk has lost since: a restart must find what is served now. */
  async #mend({ id }: Source, trigger: Trigger, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#parts
    const cause: GenerationCause = { action: 'update', trigger, source: id }
    const isMended = await this.#publisher.mend(id, cause, clock.now(), signal)
    if (isMended) this.serve()
    if ((await store.decisions.mend()) || isMended) log.warn('store-mended', { source: id })
  }

  /** Creates a generation of the changes and serves it. Without a signal it is never interrupted. */
  async publish(changed: Changed, cause: GenerationCause, signal: AbortSignal = NEVER): Promise<void> {
    await followDisabled(
      [...changed.values()].flatMap((current) => current?.snapshot ?? []),
      this.#parts,
    )
    await this.#publisher.publish(changed, cause, this.#parts.clock.now(), signal)
    // Adds findings that the snapshot lacks: those made while it was built, and those since it was last served.
    for (const { source } of this.#config.sources)
      if (source.kind === 'mcp' && changed.has(source.id)) await this.#isAmended(source, cause.trigger)
    // Building a catalog of thousands of skills takes long, and so does notifying of the changes: pending requests are
    // answered first. The first turn ends in the same round of the event loop, which reads no new input.
    await turn()
    await turn()
    await this.serveInSlices()
  }

  /**
   * Like `serve`, but first builds the catalog and its changes in slices, so that other clients are served meanwhile.
   */
  async serveInSlices(): Promise<void> {
    await this.#registry.prepare(await this.#publisher.readied())
    this.serve()
  }

  /** Serves the newest generation, without the skills that are disabled now. */
  serve(): void {
    // Never a catalog that was built before a wait: the operator may have disabled one of its skills meanwhile.
    this.#registry.publish(this.#publisher.catalog)
  }

  /** Files that cannot be removed now are removed after the next update: nothing that is served depends on them. */
  async #collect(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#parts
    try {
      await this.#parts.linked()
      const kept = new Set([...(await keptByLock(store, this.#config)), ...this.#served()])
      await store.collect(clock.now(), this.#config.retention, kept, signal)
      log.recovery('collection-failed', '')
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      log.failure('warn', 'collection-failed', { source: '', code: error.code, message: error.message })
    }
  }

  /** The snapshots that are served, even if the disk lost the generation that names them. */
  #served(): string[] {
    return this.#config.sources.flatMap(({ source }) => this.#publisher.currentOf(source.id)?.held.snapshot ?? [])
  }
}

/** Codes of holds that are known only after the candidate was fetched. */
const TAKES_A_LOOK: ReadonlySet<SyncErrorCode> = new Set(['mass-deletion', 'disabled-returns', 'awaiting-approval'])

/** One run in its queue: its trigger, and the call that takes a slot for fetching. */
interface Turn {
  readonly trigger: Trigger
  readonly signal: AbortSignal
  readonly fetching: () => Promise<void>
}

/** Twice as many slots for slow work: slow or hanging hosts delay no other host, and memory stays bounded. */
function withSlow(limits: PlaceLimits): PlaceLimits {
  return { ...limits, slow: { concurrency: 2 * limits.concurrency, afterMs: SLOW_AFTER_MS } }
}

const SLOW_AFTER_MS = 2_000

const LANE_MARGIN_MS = 60_000

const NEVER = new AbortController().signal

/** The grace period of running pulls when the daemon ends. */
const GRACE_MS = 5_000

/** Equal for sources that share the same repository with the same access. */
export function repositoryOf({ source, access, ca, proxy }: ConfiguredSource): string {
  const backend = source.kind === 'git' ? source.backend : undefined
  return JSON.stringify([source.url, backend, access, ca, proxy])
}

/** True if the addresses differ only in spelling. */
function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => new URL(text).href.replace(/\/+$/, ''))
  return first === second
}
