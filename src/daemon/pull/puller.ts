import { setImmediate as turn } from 'node:timers/promises'
import { snapshotWithMismatches } from '../../sync/survey/listing-mismatches.ts'
import { snapshotWithTexts } from '../../sync/survey/listing-hidden-text.ts'
import { outdatedIn } from '../../sync/decisions/approvals.ts'
import { isAbout, settled, unapproved, UNDECIDED } from '../../sync/decisions/decisions.ts'
import type { Decision } from '../../sync/decisions/decisions.ts'
import type { Cause, Trigger } from '../../sync/model/generation.ts'
import type { Outcome, Updated, Waiting } from '../../sync/model/outcome.ts'
import type { Snapshot, Current } from '../../sync/model/snapshot.ts'
import type { McpSource, Source } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { NotSigned, SyncError, unsuppressed, type SyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Changed, Loss, Publisher } from '../../sync/pull/publisher.ts'
import { pull } from '../../sync/pull/pull.ts'
import type { Registry } from '../../serve/registry.ts'
import type { Fallback } from '../../sync/pull/fallback-source.ts'
import type { Orders, Pulling } from '../../sync/pull/pull-context.ts'
import { FetchThreads } from '../../sync/upstream/git/fetch-threads.ts'
import { FolderHashes } from '../../sync/upstream/folder/folder-hashes.ts'
import { refsOf } from '../../sync/upstream/open.ts'
import type { ServerListing } from '../../sync/model/server-listing.ts'
import { SharedListings, type RequestedListing } from '../../sync/upstream/git/shared-ls-refs.ts'
import { refusalOf, revocationOf } from '../trust/serving-policy.ts'
import { approached } from '../schedule/throttled-upstream.ts'
import { Attempts } from '../schedule/pull-activity.ts'
import { configuredIn, foldersIn } from '../config/config.ts'
import type { FetchedBytes } from '../base/fetched-bytes.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import { hostOf, leftAlone } from '../schedule/host-backoff.ts'
import type { Hosts } from '../schedule/host-backoff.ts'
import { keptByLock } from './locked-snapshots.ts'
import type { Keyring } from '../credentials/keyring.ts'
import type { KnownLock } from '../trust/known-lock.ts'
import { Lanes } from '../schedule/keyed-queue.ts'
import { followedBy, NotLocked } from '../trust/lock-rules.ts'
import { LostFolders } from './missing-folders.ts'
import { cleaned, pullingOf } from './pull-context.ts'
import type { Reach } from '../../sync/upstream/open.ts'
import type { ReachingParts } from './pull-context.ts'
import type { PlaceLimits } from '../base/host-semaphore.ts'
import { followDisabled, readDecisions } from './load-decisions.ts'
import type { Report } from '../status/report.ts'

/** What pulls are made with, besides what the daemon is given. */
export interface PullerParts extends ReachingParts {
  /** Brings the files of an MCP server that the operator wants here before anybody reads them. */
  readonly fetchAll: (source: McpSource, signal: AbortSignal) => Promise<void>
  readonly config: Config
  readonly registry: Registry
  readonly publisher: Publisher
  readonly report: Report
  readonly keyring: Keyring
  readonly lock: KnownLock
  readonly hosts: Hosts
  /** Is told of the bytes of files that come. */
  readonly fetched: FetchedBytes
  /** The server that this one has the locked skills of a source from, should their commit vanish. */
  readonly fallbackTo: (id: SourceId) => Fallback
  /** Resolves when agents' folders lead to what is served, and to nothing that may be collected. */
  readonly linked: () => Promise<void>
}

/** Brings what sources have into service: each pull in its lane, from the request until its outcome is served and told. */
export class Puller implements AsyncDisposable {
  readonly hosts: Hosts
  readonly attempts: Attempts
  readonly #config: Config
  readonly #parts: PullerParts
  readonly #registry: Registry
  readonly #publisher: Publisher
  readonly #report: Report
  readonly #keyring: Keyring
  readonly #lanes: Lanes<Outcome>
  /** What the last pull of a source held after a look into it. */
  readonly #waiting = new Map<SourceId, Waiting>()
  readonly #listings = new SharedListings()
  readonly #threads = new FetchThreads()
  readonly #lostFolders: LostFolders
  /** Of each source whose next pull has not begun, its part in the listing. */
  readonly #requested = new Map<SourceId, RequestedListing>()
  /** Of each source that is a folder. */
  readonly #hashes = new Map<SourceId, FolderHashes>()
  /** Sources of which a stored file was found damaged: the next pull takes them anew, known or not. */
  readonly #damaged = new Set<SourceId>()
  /** The errors of runs that lost their place and are reported: all who waited for such a run get the same one. */
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
    this.attempts = new Attempts(foldersIn(parts.config), parts.clock)
    const { fetches, fetch } = parts.config.limits
    // To look where a ref points is one short answer, to fetch can take minutes: hosts that drip keep nobody from looking.
    const looking = withSlow({ concurrency: 4 * fetches.concurrency, perHost: 2 * fetches.perHost })
    const fetching = withSlow(fetches)
    // A fetch names its own limit better than the lane that takes its place away.
    const timeoutMs = fetch.totalMs + LANE_MARGIN_MS
    this.#lanes = new Lanes({ looking, fetching, timeoutMs, graceMs: GRACE_MS }, parts.clock)
  }

  /** How long ago the last pull of a source ended, whatever came of it. Infinite where there was none. */
  sinceAttemptMs(source: SourceId): number {
    const configured = configuredIn(this.#config, source)
    return this.attempts.sinceMs(source, this.#report.recordOf(configured.source).lastAttempt)
  }

  currentOf(source: SourceId): Current | undefined {
    return this.#publisher.currentOf(source)
  }

  /** The sources of which the disk lost what was served, until that is brought back. */
  get lost(): readonly Loss[] {
    return this.#publisher.lost
  }

  /** Whether a change at this path of a folder may be one of what is served of it. */
  async isOfUse(source: SourceId, path: string): Promise<boolean> {
    return this.#hashes.get(source)?.isOfUse(path) ?? true
  }

  /** Stops what runs for a source and what waits; resolves when that has ended, or has had its time to. */
  async stop(source: SourceId): Promise<void> {
    await this.#lanes.stop(source)
  }

  /** A stored file of the source is not what it was. Says whether that is news. */
  markDamaged(source: SourceId): boolean {
    if (this.#damaged.has(source)) return false
    this.#damaged.add(source)
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lanes[Symbol.asyncDispose]()
    await this.#threads[Symbol.asyncDispose]()
    // A pull that does not heed its signal publishes nothing from here on, but may be in the middle of it.
    await this.#publisher.settled()
  }

  /** Pulls as soon as there is a place. Rejects with an AbortError when stopped, else only in ways that end the process. */
  async request(configured: ConfiguredSource, trigger: Trigger): Promise<Outcome> {
    const { source } = configured
    // Those who join a pull in waiting ask anew: a listing that began before this is of no use to it.
    this.#requested.get(source.id)?.[Symbol.dispose]()
    this.#requested.set(source.id, this.#listings.request(repositoryOf(configured), refsOf(source)))
    try {
      return await this.#lanes.request(source.id, hostOf(source), (signal, fetching) => {
        return this.#run(configured, { trigger, signal, fetching })
      })
    } catch (thrown) {
      const error = unsuppressed(thrown)
      // The lane took the place back from a pull that did not end: that is an outcome too.
      if (!(error instanceof SyncError)) throw error
      return await this.#lost(source, error)
    } finally {
      this.attempts.end(source.id)
    }
  }

  /** Once for each run, however many waited for it. */
  async #lost(source: Source, error: SyncError): Promise<Outcome> {
    const outcome: Outcome = { kind: 'failed', error }
    if (this.#reported.has(error)) return outcome
    this.#reported.add(error)
    await this.#report.outcome(source, outcome, this.#config.limits.fetch.totalMs + LANE_MARGIN_MS)
    return outcome
  }

  /** One pull in its lane, and what is told of it. */
  async #run(configured: ConfiguredSource, turn: Turn): Promise<Outcome> {
    const { source } = configured
    using _underWay = this.attempts.begin(source.id)
    using listing = this.#requested.get(source.id)
    this.#requested.delete(source.id)
    const { store, clock, redactor } = this.#parts
    const startMs = clock.monotonicMs()
    // Also while nobody can look at the source.
    if (source.kind === 'mcp') await this.judge(source, turn.trigger)
    // Looked at here and not when asked: another source of the host may have been sent away while this one waited.
    const closedMs = this.hosts.closedMs(hostOf(source))
    if (closedMs > 0) return { kind: 'failed', error: leftAlone(source.id, closedMs) }
    this.attempts.seen(source.id)
    const outcome = cleaned(await this.#pull(configured, turn, listing), redactor)
    await this.#report.outcome(source, outcome, clock.monotonicMs() - startMs)
    const isTaken = outcome.kind === 'updated' || outcome.kind === 'unchanged'
    if (source.kind === 'mcp' && isTaken) await this.#parts.fetchAll(source, turn.signal)
    // Above the budget no fetch starts: what can be let go is looked for again at each try.
    if (outcome.kind === 'updated' || store.bytes > this.#config.limits.disk.bytes) await this.#collect(turn.signal)
    return outcome
  }

  /**
   * Says of what is served of an MCP server what was found in its files since. It waits for no look at the source: a server that
   * hangs keeps nothing in service.
   */
  async judge(source: McpSource, trigger: Trigger): Promise<void> {
    if (await this.#isAmended(source, trigger)) await this.serveInSlices()
  }

  /** True where that made a generation that is to be served. */
  async #isAmended({ id, hiddenUnicode }: McpSource, trigger: Trigger): Promise<boolean> {
    const { store, clock } = this.#parts
    const change = async (snapshot: Snapshot): Promise<Snapshot> => {
      const found = snapshotWithMismatches(snapshot, await store.upstreams.mismatches(id))
      return snapshotWithTexts(found, await store.upstreams.texts(id), hiddenUnicode)
    }
    return this.#publisher.amend(id, change, { action: 'update', trigger, source: id }, clock.now())
  }

  /** The context of one pull. */
  #contextOf(configured: ConfiguredSource, { fetching }: Turn, listing: RequestedListing | undefined): Pulling {
    const { source, fallback } = configured
    const threads = this.#threads
    const reach = { ...this.#reachOf(source), threads, ...(listing && { listing }) }
    const context = pullingOf(configured, this.#config, this.#parts, this.#keyring, reach)
    const onBytes = (bytes: number): void => this.#parts.fetched.add(source.id, bytes)
    const manners = { source: source.id, host: hostOf(source), hosts: this.hosts, fetching, onBytes }
    return {
      ...context,
      open: (opened, scratch) => approached(context.open(opened, scratch), manners),
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

  /** What a pull goes by, or how it ends without one. */
  async #ordersOf(configured: ConfiguredSource, current: Current | undefined): Promise<Orders | Outcome> {
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

  /** What lay in a folder that is gone is written again at the end of the pull, and what is linked by this. */
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

  /** Throws where it cannot be read. A person may have mended what could not be before. */
  async #decisionOf(id: SourceId): Promise<Decision> {
    const { decisions } = this.#parts.store
    if (decisions.isFailing || decisions.loss !== undefined) {
      await readDecisions(this.#parts)
      this.serve()
    }
    return decisions.of(id)
  }

  #decidedOf(id: SourceId): Decision {
    return this.#parts.store.decisions.known.get(id) ?? UNDECIDED
  }

  /** Nothing is looked at; what the lock or the signatures take back does not stay for that. */
  async #pausedAt({ source }: ConfiguredSource, current: Current | undefined): Promise<Outcome> {
    const error = current && (await revocationOf(this.#config, current.snapshot, this.#decidedOf(source.id)))
    if (error instanceof NotLocked || error instanceof NotSigned) return { kind: 'failed', error, withdraw: true }
    return { kind: 'held', revision: undefined, reason: { code: 'paused', message: `"${source.id}" is paused` } }
  }

  /** What follows from the end of a pull for what is served. */
  async #ended(source: Source, outcome: Outcome, trigger: Trigger, signal: AbortSignal): Promise<Outcome> {
    if (outcome.kind === 'held' && TAKES_A_LOOK.has(outcome.reason.code)) this.#waiting.set(source.id, outcome)
    else this.#waiting.delete(source.id)
    try {
      if (outcome.kind === 'updated') await this.#serve(source, outcome, trigger, signal)
      else if (outcome.kind === 'failed' && outcome.withdraw) await this.#withdraw(source, trigger, signal)
      // A disk that said no has said so.
      else if (outcome.kind !== 'failed' || outcome.error.code !== 'store-failed')
        await this.#mend(source, trigger, signal)
      return outcome
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      // What a person has to know of the source is not hidden by a disk that says no.
      const isTold = outcome.kind === 'held' || (outcome.kind === 'failed' && outcome.withdraw !== true)
      return isTold ? outcome : { kind: 'failed', error }
    }
  }

  async #serve({ id }: Source, updated: Updated, trigger: Trigger, signal: AbortSignal): Promise<void> {
    const { held, snapshot, from, rewritten } = updated
    // A gate can take long, and lock and signers are those of this moment.
    const refusal = await refusalOf(this.#config, snapshot, this.#decidedOf(id))
    if (refusal !== undefined) throw refusal
    await this.#revokeOutdated(snapshot)
    const cause: Cause = { action: 'update', trigger, source: id, ...(rewritten && { rewritten }) }
    await this.publish(new Map([[id, { held, snapshot }]]), cause, signal)
    this.#parts.log.recovery('served-lost', id)
    this.#damaged.delete(id)
    // What was said of a candidate is done with once the source has moved on. One that was brought back has not moved.
    if (from === undefined) await this.#parts.store.decisions.change(id, unapproved)
    else if (!isAbout(from, snapshot.revision)) await this.#parts.store.decisions.change(id, settled)
  }

  /** First on the disk: a kill in between leaves a skill waiting, and never one served that nobody looked at. */
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

  /** What the disk has lost since is written again from memory: a restart is to find what is served now. */
  async #mend({ id }: Source, trigger: Trigger, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#parts
    const cause: Cause = { action: 'update', trigger, source: id }
    const isMended = await this.#publisher.mend(id, cause, clock.now(), signal)
    if (isMended) this.serve()
    if ((await store.decisions.mend()) || isMended) log.warn('store-mended', { source: id })
  }

  /** Makes a generation of what changed, and serves it. Without a signal it is not stopped half way. */
  async publish(changed: Changed, cause: Cause, signal: AbortSignal = NEVER): Promise<void> {
    await followDisabled(
      [...changed.values()].flatMap((current) => current?.snapshot ?? []),
      this.#parts,
    )
    await this.#publisher.publish(changed, cause, this.#parts.clock.now(), signal)
    // What was found while the snapshot was made, or since it was served last, is not in it.
    for (const { source } of this.#config.sources)
      if (source.kind === 'mcp' && changed.has(source.id)) await this.#isAmended(source, cause.trigger)
    // To build a catalog of thousands of skills takes long, and so does telling what moved: whoever asked meanwhile is answered
    // first. The first turn is of the same round of the loop, in which nothing more is heard.
    await turn()
    await turn()
    await this.serveInSlices()
  }

  /** The same as `serve`, once the catalog and what is told of it are made in slices: others are served meanwhile. */
  async serveInSlices(): Promise<void> {
    await this.#registry.prepare(await this.#publisher.readied())
    this.serve()
  }

  /** Serves the newest generation, without what is disabled now. */
  serve(): void {
    // Never a catalog that was built before a wait: somebody may have disabled a skill of it meanwhile.
    this.#registry.publish(this.#publisher.catalog)
  }

  /** What cannot be removed now is removed after the next update: nothing that is served depends on it. */
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

  /** The snapshots of what is served, also where the disk lost the generation that names them. */
  #served(): string[] {
    return this.#config.sources.flatMap(({ source }) => this.#publisher.currentOf(source.id)?.held.snapshot ?? [])
  }
}

/** Holds that are known only once the candidate was fetched. */
const TAKES_A_LOOK: ReadonlySet<SyncErrorCode> = new Set(['mass-deletion', 'disabled-returns', 'awaiting-approval'])

/** One run in its lane: who wanted it, and the call that takes a place among those who fetch. */
interface Turn {
  readonly trigger: Trigger
  readonly signal: AbortSignal
  readonly fetching: () => Promise<void>
}

/** Twice as many places for what is slow: hosts that drip or hang hold up no other, and memory stays bounded. */
function withSlow(limits: PlaceLimits): PlaceLimits {
  return { ...limits, slow: { concurrency: 2 * limits.concurrency, afterMs: SLOW_AFTER_MS } }
}

const SLOW_AFTER_MS = 2_000

const LANE_MARGIN_MS = 60_000

const NEVER = new AbortController().signal

/** How long pulls have to end when the daemon does. */
const GRACE_MS = 5_000

/** Equal for sources that are the same repository to the same reader. */
export function repositoryOf({ source, access, ca, proxy }: ConfiguredSource): string {
  const backend = source.kind === 'git' ? source.backend : undefined
  return JSON.stringify([source.url, backend, access, ca, proxy])
}

/** True of addresses that differ in nothing but how they are written. */
function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => new URL(text).href.replace(/\/+$/, ''))
  return first === second
}
