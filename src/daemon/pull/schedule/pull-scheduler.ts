import { hostname } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { ignoreAbort } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import { waitAtMost } from '../../../base/async/wait-at-most.ts'
import type { Trigger } from '../../../sync/model/generation.ts'
import type { Outcome } from '../../../sync/model/outcome.ts'
import type { ServedSource } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { isAway } from '../../../sync/model/source.ts'
import type { Source } from '../../../sync/model/source.ts'
import type { SourceRecord } from '../../../sync/store/source-records.ts'
import { configuredIn, ownFolders, repositoryOf } from '../../config/config.ts'
import type { Config, ConfiguredSource } from '../../config/config.ts'
import type { DaemonContext } from '../../runtime/context.ts'
import { FolderWatch } from './folder-watch.ts'
import { hostOf } from './host-backoff.ts'
import type { HostBackoff } from './host-backoff.ts'
import { PeriodCache } from './period-cache.ts'
import { Poller } from './poller.ts'
import type { Polled, PollEnd } from './poller.ts'
import type { PullActivity } from './pull-activity.ts'
import { RefreshCoalescer } from './refresh-coalescer.ts'
import type { Look } from './refresh-coalescer.ts'
import { Staleness } from './staleness.ts'
import type { Age } from './staleness.ts'
import { TriggerDebounce } from './trigger-debounce.ts'

export interface PullSchedulerParts extends Pick<DaemonContext, 'store' | 'clock' | 'log' | 'environment'> {
  readonly config: Config
  readonly hosts: HostBackoff
  readonly activity: PullActivity
  readonly puller: ScheduledPuller
  readonly served: { currentOf(id: SourceId): ServedSource | undefined }
  readonly report: { recordOf(source: Source): SourceRecord }
}

/** The puller, as far as it is scheduled. */
export interface ScheduledPuller {
  request(id: SourceId, trigger: Trigger): Promise<Outcome>
  /** True if a change at this path of a folder can affect what is served of it. */
  isOfUse(id: SourceId, path: string): Promise<boolean>
}

/** Decides when each source is pulled: on its schedule, when a change is reported, and when a client reads it. */
export class PullScheduler implements AsyncDisposable {
  readonly #parts: PullSchedulerParts
  readonly #debounce: TriggerDebounce
  readonly #freshness: RefreshOnRead
  readonly #staleness: Staleness
  #poller: Poller | undefined
  #watches: ReadonlyMap<SourceId, FolderWatch> = new Map()

  constructor(parts: PullSchedulerParts) {
    const { config, clock, report, store } = parts
    this.#parts = parts
    this.#debounce = new TriggerDebounce({
      clock,
      closedMs: (id) => this.#closedMs(configuredIn(config, id).source),
      pull: (id) => this.#pullTriggered(id),
    })
    this.#freshness = this.#freshnessOf(config)
    this.#staleness = new Staleness({
      config,
      clock,
      recordOf: (source) => report.recordOf(source),
      decisions: () => store.decisions.known,
      freshMs: (id) => this.#freshMs(id),
    })
  }

  /** Starts to pull each source on its schedule, and each folder source when a file in it changes. */
  start(): void {
    const { config, clock, hosts } = this.#parts
    this.#watches = this.#watchFolders()
    this.#poller = new Poller(
      config.sources.map((configured) => this.#polledOf(configured)),
      {
        clock,
        hosts,
        machine: hostname(),
        random: Math.random,
        poll: (id) => this.#poll(id),
      },
    )
  }

  /** Pulls a source soon, because a change of it was reported. Several reports in a short time lead to one pull. */
  trigger(id: SourceId): void {
    this.#debounce.nudge(id)
  }

  /**
   * Checks the stale sources, or the given one even if it is fresh, because a client requests their content. Resolves
   * when the result is served or the wait is over (default: `serve.tool_wait`). Returns the time left of that wait.
   */
  async refresh(id?: SourceId, mostMs?: number): Promise<number> {
    // Lets pending file system events of watched folders arrive first.
    await turn()
    return this.#freshness.look(id, mostMs)
  }

  /** The ages of all sources, in their order. */
  ages(): readonly Age[] {
    return this.#staleness.all()
  }

  /** The time of the next poll of each source; empty before `start`. */
  nextPolls(): ReadonlyMap<SourceId, Date> {
    return this.#poller?.nextPolls() ?? new Map()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#debounce[Symbol.dispose]()
    await Promise.all([...this.#watches.values()].map((watch) => watch[Symbol.asyncDispose]()))
    await this.#poller?.[Symbol.asyncDispose]()
  }

  #freshnessOf({ sources, serve }: Config): RefreshOnRead {
    const { clock, activity, puller } = this.#parts
    return new RefreshOnRead(
      sources.map(({ source }) => source),
      {
        clock,
        waitMs: serve.toolWaitMs,
        // A source that its server declares fresh counts as just checked.
        sinceAttemptMs: (id) => (this.#freshMs(id) > 0 ? 0 : this.#sinceAttemptMs(id)),
        hasNews: (id) => activity.hasNews(id) || this.#watches.get(id)?.isSure === false,
        isOpen: (source) => this.#isOpen(source),
        pull: (id) => puller.request(id, 'call'),
      },
    )
  }

  #watchFolders(): ReadonlyMap<SourceId, FolderWatch> {
    const { config, clock, log, environment, activity, puller } = this.#parts
    const options = {
      clock,
      log,
      nudge: (id: SourceId): void => this.trigger(id),
      apart: ownFolders(config, environment),
      onNews: (id: SourceId): void => activity.heard(id),
      isOfUse: (id: SourceId, path: string): Promise<boolean> => puller.isOfUse(id, path),
    }
    return new Map(
      config.sources.flatMap(({ source }) =>
        source.kind === 'directory' ? [[source.id, new FolderWatch(source, options)]] : [],
      ),
    )
  }

  #polledOf(configured: ConfiguredSource): Polled {
    const { source } = configured
    return {
      id: source.id,
      host: hostOf(source),
      group: JSON.stringify([repositoryOf(configured), source.schedule]),
      schedule: source.schedule,
      isNew: this.#parts.served.currentOf(source.id) === undefined,
    }
  }

  /** A server is not polled before its answer stops being fresh, unless something is wrong. */
  async #poll(id: SourceId): Promise<PollEnd> {
    const freshMs = this.#freshMs(id)
    if (freshMs > 0) return { failed: undefined, freshMs }
    const outcome = await this.#parts.puller.request(id, 'schedule')
    return { failed: outcome.kind === 'failed' ? outcome.error.code : undefined, freshMs: this.#freshMs(id) }
  }

  /** The recovery of a webhook is logged here and not at each request: pulls happen less often than requests. */
  async #pullTriggered(id: SourceId): Promise<void> {
    const { config, log, puller } = this.#parts
    log.debug('source-nudged', { source: id })
    log.recovery('webhook-refused', id)
    const { kind } = configuredIn(config, id).source
    const outcome = await puller.request(id, kind === 'git' ? 'webhook' : 'change')
    // The change that triggered this pull must not be lost with the failed pull.
    if (outcome.kind === 'failed') this.#poller?.retry(id, outcome.error.code)
  }

  /** The time for which the last answer of a server stays fresh; 0 if something is wrong with the source. */
  #freshMs(id: SourceId): number {
    const { problem } = this.#recordOf(id)
    return problem === undefined ? this.#parts.activity.freshMs(id) : 0
  }

  /** The time since the last pull of a source ended, with any outcome. Infinite if there was none. */
  #sinceAttemptMs(id: SourceId): number {
    return this.#parts.activity.sinceMs(id, this.#recordOf(id).lastAttempt)
  }

  #recordOf(id: SourceId): SourceRecord {
    const { config, report } = this.#parts
    return report.recordOf(configuredIn(config, id).source)
  }

  /** True if the source may be pulled for a client now. */
  #isOpen(source: Source): boolean {
    const { config, store } = this.#parts
    const isOffline = config.mode.offline && isAway(source)
    if (isOffline || store.decisions.knownOf(source.id).hold?.noPoll === true) return false
    return this.#closedMs(source) === 0
  }

  /** The remaining backoff of the host of a source. */
  #closedMs(source: Source): number {
    return this.#parts.hosts.closedMs(hostOf(source))
  }
}

interface FreshnessOptions {
  readonly clock: Clock
  /** The longest time that a caller waits. */
  readonly waitMs: number
  /** The time since the last pull of the source, with any outcome. */
  readonly sinceAttemptMs: (id: SourceId) => number
  /** True if something may have changed in it since its last pull began. */
  readonly hasNews: (id: SourceId) => boolean
  /** True if it may be pulled now: false if its host is in backoff, if a hold ends its polling, or if `--offline` forbids it. */
  readonly isOpen: (source: Source) => boolean
  /**
   * Pulls a source; the pull begins after the call. It rejects only if it is stopped, or with an error that must end
   * the process.
   */
  readonly pull: (id: SourceId) => Promise<unknown>
}

/** Short, because pulling a folder costs almost nothing. */
const FOLDER_STALE_MS = 5_000

/**
 * Pulls sources because a client reads them: those without a pull for one period of their schedule. The period counts
 * from the last attempt, so that a failing host is queried no more often than a healthy one.
 */
export class RefreshOnRead {
  readonly #sources: readonly Source[]
  readonly #options: FreshnessOptions
  /** All callers that need a stale source share its pull. */
  readonly #looks = new Map<SourceId, Look>()
  readonly #newLooks: RefreshCoalescer
  readonly #periods: PeriodCache

  constructor(sources: readonly Source[], options: FreshnessOptions) {
    this.#sources = sources
    this.#options = options
    this.#newLooks = new RefreshCoalescer(options.clock, options.pull)
    this.#periods = new PeriodCache(options.clock)
  }

  /**
   * Pulls the stale sources, or the named one even if it is fresh. Resolves when that has ended or the wait is over;
   * the pull continues. A pull that has already run that long is not waited for. Returns the time that the caller may
   * still wait.
   */
  async look(only?: SourceId, mostMs = this.#options.waitMs): Promise<number> {
    const { clock, isOpen } = this.#options
    const endMs = clock.monotonicMs() + mostMs
    const wanted = this.#sources.filter((source) => (only === undefined ? this.#isStale(source) : source.id === only))
    await Promise.all(wanted.filter(isOpen).map(({ id }) => this.#waitFor(this.#lookAt(id, only), endMs)))
    return Math.max(0, endMs - clock.monotonicMs())
  }

  #lookAt(id: SourceId, only: SourceId | undefined): Look {
    // A caller that names a source has seen a change: a running pull may have read the source before that.
    if (only !== undefined || this.#options.hasNews(id)) return this.#newLooks.at(id)
    const look = this.#looks.get(id) ?? { ended: this.#begin(id), sinceMs: this.#options.clock.monotonicMs() }
    this.#looks.set(id, look)
    return look
  }

  /** A source that hangs costs the wait once, not once for each caller. */
  async #waitFor({ ended, sinceMs }: Look, endMs: number): Promise<void> {
    const { clock, waitMs } = this.#options
    await waitAtMost(Math.min(endMs, sinceMs + waitMs) - clock.monotonicMs(), ended, clock)
  }

  async #begin(id: SourceId): Promise<void> {
    try {
      await this.#options.pull(id)
    } catch (error) {
      ignoreAbort(error)
    } finally {
      this.#looks.delete(id)
    }
  }

  #isStale(source: Source): boolean {
    const sinceMs = this.#options.sinceAttemptMs(source.id)
    switch (source.kind) {
      case 'directory':
        return sinceMs >= FOLDER_STALE_MS || this.#options.hasNews(source.id)
      case 'git':
      case 'mcp':
      case 'channel':
        return sinceMs >= SHORTEST_PERIOD_MS && sinceMs >= this.#periods.of(source.schedule)
      default:
        return source satisfies never
    }
  }
}

/** No schedule is shorter. A longer period need not be computed for a source that was just pulled. */
const SHORTEST_PERIOD_MS = 1_000
