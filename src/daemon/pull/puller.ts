import { FetchThreads } from '../../sync/git/fetch-threads.ts'
import { isLocked } from '../../sync/model/decisions/lock.ts'
import type { Trigger } from '../../sync/model/generation.ts'
import type { Outcome } from '../../sync/model/outcome.ts'
import type { ServerListing } from '../../sync/model/server-listing.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import { SyncError, unwrapSuppressed } from '../../sync/model/sync-error.ts'
import type { Fallback } from '../../sync/pull/fallback/fallback-source.ts'
import type { Reach } from '../../sync/pull/open-upstream.ts'
import type { PullContext } from '../../sync/pull/pull-context.ts'
import { SharedRequests } from '../../sync/pull/shared-requests.ts'
import type { SharedRequest } from '../../sync/pull/shared-requests.ts'
import { readLock } from '../../sync/store/lock-file.ts'
import type { Workspace } from '../../sync/store/objects/blob-store.ts'
import type { LiveObjects } from '../../sync/store/objects/object-store.ts'
import type { Store } from '../../sync/store/store.ts'
import { FolderHashes } from '../../sync/upstream/folder/folder-hashes.ts'
import { configuredIn, repositoryOf } from '../config/config.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import type { FetchedBytes } from '../runtime/fetched-bytes.ts'
import type { PlaceLimits } from '../runtime/host-semaphore.ts'
import type { HubReplica } from '../runtime/hub-replica.ts'
import type { BudgetHold } from './budget-hold.ts'
import type { StoreUse } from './collection-times.ts'
import { DamagedSources } from './damaged-sources.ts'
import { PullAndServe } from './pull-and-serve.ts'
import type { PullAndServeParts, PullRun } from './pull-and-serve.ts'
import { newPullContext } from './pull-context.ts'
import type { ReachingParts } from './pull-context.ts'
import { hostOf } from './schedule/host-backoff.ts'
import { KeyedQueue } from './schedule/keyed-queue.ts'
import type { Slot } from './schedule/keyed-queue.ts'
import { throttleUpstream } from './schedule/throttled-upstream.ts'

/** The dependencies of pulls, in addition to those of the daemon. */
export interface PullerParts extends ReachingParts, Omit<PullAndServeParts, 'replica' | 'damage' | 'collectIfDue'> {
  readonly config: Config
  /** Receives the number of fetched bytes of files. */
  readonly fetched: FetchedBytes
  /** The server from which the locked skills of a source are read if their commit vanishes. */
  readonly fallbackTo: (id: SourceId) => Fallback
  /** The snapshots that an operator is about to compare or to lock. */
  readonly candidates: { readonly recent: ReadonlySet<string> }
  /** The objects that the channels of this hub still have. */
  readonly channels: { live(since: Date): Promise<ReadonlySet<string>> }
  /** Settled when the agents' folders link to what is served, and to nothing that may be collected. */
  readonly linking: { settled(): Promise<void> }
}

/**
 * Brings the content of sources into service. Each pull runs in the queue of its source, from the request until its
 * outcome is served and reported.
 */
export class Puller implements AsyncDisposable {
  readonly #config: Config
  readonly #parts: PullerParts
  readonly #pulls: PullAndServe
  readonly #queue: KeyedQueue<Outcome>
  readonly #shared = new SharedRequests()
  readonly #threads = new FetchThreads()
  /** For each source whose next pull has not begun: its part in what pulls share. */
  readonly #requested = new Map<SourceId, SharedRequest>()
  /** For each source that is a folder. */
  readonly #hashes = new Map<SourceId, FolderHashes>()
  readonly #damage = new DamagedSources()
  /** The number of running pulls. */
  #running = 0
  /** The errors of reported runs that lost their slot: all callers that waited for such a run get the same error. */
  readonly #reported = new WeakSet<SyncError>()

  constructor(parts: PullerParts) {
    this.#parts = parts
    this.#config = parts.config
    const collectIfDue = async (signal: AbortSignal): Promise<void> => this.#collectIfDue(signal)
    this.#pulls = new PullAndServe({ ...parts, damage: this.#damage, collectIfDue })
    const { fetches, fetch } = parts.config.limits
    // Resolving a ref is one short request, while a fetch can take minutes: slow hosts must not keep others from
    // resolving.
    const looking = withSlow({ concurrency: 4 * fetches.concurrency, perHost: 2 * fetches.perHost })
    const fetching = withSlow(fetches)
    // The fetch's own timeout error is more precise than that of the queue.
    const timeoutMs = fetch.totalMs + QUEUE_MARGIN_MS
    this.#queue = new KeyedQueue({ looking, fetching, timeoutMs, graceMs: GRACE_MS }, parts.clock)
  }

  /**
   * Pulls a source as soon as there is a slot. Rejects with an AbortError if stopped; any other rejection is fatal to the
   * process.
   */
  async request(id: SourceId, trigger: Trigger): Promise<Outcome> {
    const { replica } = this.#parts
    if (replica?.isLeading === false) {
      await this.#restore(id, replica)
      return replica.pull(id, trigger)
    }
    const configured = configuredIn(this.#config, id)
    const { source } = configured
    // A request that joins a waiting pull renews its listing: a listing that began before is of no use to it.
    this.#requested.get(source.id)?.[Symbol.dispose]()
    this.#requested.set(source.id, this.#shared.request(source, repositoryOf(configured)))
    try {
      return await this.#queue.request(source.id, hostOf(source), (signal, slot) => {
        return this.#run(configured, { trigger, signal, slot })
      })
    } catch (thrown) {
      const error = unwrapSuppressed(thrown)
      // The queue took the slot from a pull that did not end: that is an outcome too.
      if (!(error instanceof SyncError)) throw error
      return await this.#lost(source, error)
    } finally {
      this.#parts.activity.end(source.id)
    }
  }

  /** Marks a stored file of the source as damaged. Returns true if that was not known yet. */
  markDamaged(id: SourceId): boolean {
    return this.#damage.mark(id)
  }

  /** Pulls a source for a client and fetches it anew, although its state is known: what is stored of it is wrong. */
  async refetch(id: SourceId): Promise<Outcome> {
    this.markDamaged(id)
    return this.request(id, 'call')
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
    await this.#queue.stop(source)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]()
    await this.#threads[Symbol.asyncDispose]()
    // A pull that ignores its signal publishes nothing from here on, but may be in the middle of a publish.
    await this.#parts.served.settled()
  }

  /** Replaces damaged objects of what is served by those of the hub. What it lacks as well is fetched by the leader. */
  async #restore(id: SourceId, replica: HubReplica): Promise<void> {
    const mark = this.#damage.markOf(id)
    const served = this.#parts.served.currentOf(id)?.held.snapshot
    if (mark === undefined || served === undefined) return
    if (await replica.restore(served)) this.#damage.clear(id, mark)
  }

  /** Reports once per run, however many callers waited for it. */
  async #lost(source: Source, error: SyncError): Promise<Outcome> {
    const outcome: Outcome = { kind: 'failed', error }
    if (this.#reported.has(error)) return outcome
    this.#reported.add(error)
    await this.#parts.report.outcome(source, outcome, this.#config.limits.fetch.totalMs + QUEUE_MARGIN_MS)
    return outcome
  }

  /** True if no other pull runs or waits. */
  get #isLast(): boolean {
    return this.#running === 1 && this.#requested.size === 0
  }

  #beginRun(): Disposable {
    this.#running += 1
    return { [Symbol.dispose]: () => void (this.#running -= 1) }
  }

  /** Runs one pull in its queue. */
  async #run(configured: ConfiguredSource, { trigger, signal, slot }: Turn): Promise<Outcome> {
    const { id } = configured.source
    using _run = this.#beginRun()
    using _underWay = this.#parts.activity.begin(id)
    using requested = this.#requested.get(id)
    this.#requested.delete(id)
    const contextOf: PullRun['contextOf'] = (use, budget) =>
      this.#contextOf(configured, { slot, use, budget }, requested?.reach)
    return await this.#pulls.run({ configured, trigger, signal, contextOf, release: slot.release })
  }

  /** The context of one pull. */
  #contextOf(
    configured: ConfiguredSource,
    { slot, use, budget }: Pick<Turn, 'slot'> & { readonly use: StoreUse; readonly budget: BudgetHold },
    shared: SharedRequest['reach'] = {},
  ): PullContext {
    const { source, fallback } = configured
    const threads = this.#threads
    const reach = { ...this.#reachOf(source), threads, ...shared }
    const context = newPullContext(configured, this.#parts, this.#parts.keyring, reach)
    const throttle = {
      source: source.id,
      host: hostOf(source),
      hosts: this.#parts.hosts,
      fetching: slot.fetch,
      onBytes: (bytes: number) => this.#parts.fetched.add(source.id, bytes),
      onFiles: (files: number) => this.#parts.activity.fetched(source.id, { files, bytes: 0 }),
    }
    return {
      ...context,
      open: (opened, workspace) => throttleUpstream(context.open(opened, workspace), throttle),
      onFetchExpected: () => threads.prepare(),
      onResolved: (revision) => {
        use.stored()
        this.#parts.report.resolved(source, revision)
      },
      ...(fallback !== undefined && { fallback: this.#parts.fallbackTo(fallback) }),
      ...(Object.keys(this.#config.packBudgets).length > 0 && { budget: (next) => budget.judge(next) }),
    }
  }

  #reachOf(source: Source): Partial<Omit<Reach, keyof Workspace>> {
    const { clock, redactor } = this.#parts
    const onListing = ({ ttlMs }: ServerListing): void => this.#parts.activity.lists(source.id, ttlMs)
    const onAddress = (url: string): void => {
      this.#parts.report.found(source, isSameAddress(url, source.url) ? undefined : redactor.clean(url))
    }
    const onReceived = (bytes: number): void => this.#parts.activity.fetched(source.id, { files: 0, bytes })
    return {
      onAddress,
      onListing,
      onReceived,
      ...(source.kind === 'directory' && { hashes: this.#hashesOf(source.id), clock }),
    }
  }

  #hashesOf(id: SourceId): FolderHashes {
    const known = this.#hashes.get(id) ?? new FolderHashes(() => this.#parts.clock.now().getTime())
    this.#hashes.set(id, known)
    return known
  }

  /** Collects what the content of another process of the hub has replaced, if that is due. */
  async collectReplaced(signal: AbortSignal): Promise<void> {
    using use = this.#parts.collections.begin()
    use.stored()
    await this.#collectIfDue(signal)
  }

  /** Collects garbage if that is due. Above the disk limit no fetch starts, so each attempt tries to collect. */
  async #collectIfDue(signal: AbortSignal): Promise<void> {
    const { store, log, collections } = this.#parts
    try {
      const isFull = store.bytes > this.#config.limits.disk.bytes
      if (!isFull && !collections.isDue(this.#isLast)) return
      await collections.run(async () => this.#collect(signal))
      log.recovery('collection-failed', '')
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      log.failure('warn', 'collection-failed', { source: '', code: error.code, message: error.message })
    }
  }

  /** Files that cannot be removed now are removed by the next collection: nothing that is served depends on them. */
  async #collect(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#parts
    await this.#parts.linking.settled()
    const locked = await keptByLock(store, this.#config)
    // What is served by now stays, even if the disk lost the generation that names it.
    const served = [...this.#parts.served.current, ...this.#parts.served.currentInRings].map(
      ({ held }) => held.snapshot,
    )
    const keep = new Set([...locked, ...served, ...this.#parts.candidates.recent])
    const { retention } = this.#config
    const now = clock.now()
    const live = async () => this.#parts.channels.live(new Date(now.getTime() - retention.youngerThanMs))
    const { replica } = this.#parts
    const also = replica?.isLeading === true ? async (objects: LiveObjects) => replica.collect(objects) : undefined
    await store.collect({ now, retention, keep, live, ...(also && { also }) }, signal)
  }
}

/**
 * The snapshots that the lock names: the upstream may no longer have them, so they are kept at any age. Throws if the
 * lock cannot be read; then nothing is collected.
 */
async function keptByLock(store: Store, { lock: file }: Config): Promise<ReadonlySet<string>> {
  const lock = file === undefined ? undefined : await readLock(file)
  const kept = new Set<string>()
  if (lock === undefined) return kept
  for (const digest of await store.snapshots.digests()) {
    const snapshot = await store.snapshots.readWhole(digest)
    const entry = snapshot && lock.sources.get(snapshot.source)
    if (entry !== undefined && snapshot !== undefined && isLocked(entry, snapshot)) kept.add(digest)
  }
  return kept
}

/** One run in its queue: its trigger, and its slot. */
interface Turn {
  readonly trigger: Trigger
  readonly signal: AbortSignal
  readonly slot: Slot
}

/** Twice as many slots for slow work: slow or hanging hosts delay no other host, and memory stays bounded. */
function withSlow(limits: PlaceLimits): PlaceLimits {
  return { ...limits, slow: { concurrency: 2 * limits.concurrency, afterMs: SLOW_AFTER_MS } }
}

const SLOW_AFTER_MS = 2_000

const QUEUE_MARGIN_MS = 60_000

/** The grace period of running pulls when the daemon ends. */
const GRACE_MS = 5_000

/** True if the addresses differ only in spelling. */
function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => new URL(text).href.replace(/\/+$/, ''))
  return first === second
}
