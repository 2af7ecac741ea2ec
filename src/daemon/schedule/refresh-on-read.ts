import type { Source } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'
import { NewLooks, type Look } from './refresh-coalescer.ts'
import { Periods } from './poll-interval.ts'
import { waitAtMost } from '../../base/wait-at-most.ts'

export interface FreshnessOptions {
  readonly clock: Clock
  /** The longest that a caller waits. */
  readonly waitMs: number
  /** How long ago the source was last looked at, whatever came of it. */
  readonly sinceAttemptMs: (id: SourceId) => number
  /** Whether something may have changed in it since the last look at it began. */
  readonly hasNews: (id: SourceId) => boolean
  /** Whether it may be looked at now: not where its host, a person or the operator wants it left alone. */
  readonly isOpen: (source: Source) => boolean
  /** What a look is; it begins after it is asked for. It never rejects but when it is stopped or in ways that end the process. */
  readonly pull: (id: SourceId) => Promise<unknown>
}

/** A folder costs next to nothing to look at. */
const FOLDER_STALE_MS = 5_000

/**
 * Looks at sources because somebody asks for what they have: at those that nobody looked at for one period of their schedule,
 * counted from the last attempt, so that a host that fails is asked no oftener than one that does not.
 */
export class Freshness {
  readonly #sources: readonly Source[]
  readonly #options: FreshnessOptions
  /** All who ask for what is stale meanwhile share a look. */
  readonly #looks = new Map<SourceId, Look>()
  readonly #newLooks: NewLooks
  readonly #periods: Periods

  constructor(sources: readonly Source[], options: FreshnessOptions) {
    this.#sources = sources
    this.#options = options
    this.#newLooks = new NewLooks(options.clock, options.pull)
    this.#periods = new Periods(options.clock)
  }

  /**
   * Looks at what is stale, or at the one source however fresh it is. Resolves when that has ended, or when the caller has
   * waited for so long: the look goes on. One that has gone on for so long already is not waited for. Says how long the caller
   * may still wait for another.
   */
  async look(only?: SourceId, mostMs = this.#options.waitMs): Promise<number> {
    const { clock, isOpen } = this.#options
    const endMs = clock.monotonicMs() + mostMs
    const wanted = this.#sources.filter((source) => (only === undefined ? this.#isStale(source) : source.id === only))
    await Promise.all(wanted.filter(isOpen).map(({ id }) => this.#waitFor(this.#lookAt(id, only), endMs)))
    return Math.max(0, endMs - clock.monotonicMs())
  }

  #lookAt(id: SourceId, only: SourceId | undefined): Look {
    // Who names a source has seen that it moved: a look that is under way may have been there before that.
    if (only !== undefined || this.#options.hasNews(id)) return this.#newLooks.at(id)
    const look = this.#looks.get(id) ?? { ended: this.#begin(id), sinceMs: this.#options.clock.monotonicMs() }
    this.#looks.set(id, look)
    return look
  }

  /** A source that hangs costs those who ask the agreed time once, and not each of them. */
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
        return sinceMs >= SHORTEST_PERIOD_MS && sinceMs >= this.#periods.of(source.schedule)
      default:
        return source satisfies never
    }
  }
}

/** No schedule is shorter, and a longer one need not be worked out for what was just looked at. */
const SHORTEST_PERIOD_MS = 1_000
