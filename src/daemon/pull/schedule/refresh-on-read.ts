import { ignoreAbort } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import { waitAtMost } from '../../../base/async/wait-at-most.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import { PeriodCache } from './period-cache.ts'
import { RefreshCoalescer, type Look } from './refresh-coalescer.ts'

export interface FreshnessOptions {
  readonly clock: Clock
  /** The longest time that a caller waits. */
  readonly waitMs: number
  /** The time since the last pull of the source, with any outcome. */
  readonly sinceAttemptMs: (id: SourceId) => number
  /** True if something may have changed in it since its last pull began. */
  readonly hasNews: (id: SourceId) => boolean
  /** True if it may be pulled now: false if its host is in backoff, if it is paused, or if `--offline` forbids it. */
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
