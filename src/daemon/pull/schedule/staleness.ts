import type { Clock } from '../../../base/async/clock.ts'
import type { Decisions } from '../../../sync/model/decisions/decisions.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { isAway } from '../../../sync/model/source.ts'
import type { Source } from '../../../sync/model/source.ts'
import type { SourceRecord } from '../../../sync/store/source-records.ts'
import type { Config, ConfiguredSource } from '../../config/config.ts'
import { PeriodCache } from './period-cache.ts'

/** The time since the last success of a source, and its limit. */
export interface Age {
  readonly configured: ConfiguredSource
  /** Infinite if there was no success. */
  readonly ageMs: number
  readonly limitMs: number
  /** True if it is older than the limit, unless the source is deliberately left alone. */
  readonly isTooOld: boolean
}

export interface AgesParts {
  readonly config: Config
  readonly clock: Pick<Clock, 'now'>
  readonly recordOf: (source: Source) => SourceRecord
  readonly decisions: () => Decisions
  /** The remaining freshness of the last answer, as the server declared. */
  readonly freshMs: (id: SourceId) => number
}

/** Computes the age of each source's content. */
export class Staleness {
  readonly #parts: AgesParts
  readonly #periods: PeriodCache

  constructor(parts: AgesParts) {
    this.#parts = parts
    this.#periods = new PeriodCache(parts.clock)
  }

  /** The ages of all sources, in their order. */
  all(): readonly Age[] {
    return this.#parts.config.sources.map((configured) => this.#of(configured))
  }

  #of(configured: ConfiguredSource): Age {
    const { source } = configured
    const { lastSuccess } = this.#parts.recordOf(source)
    const nowMs = this.#parts.clock.now().getTime()
    // The age is never negative, even if the clock was set back.
    const ageMs = lastSuccess === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - Date.parse(lastSuccess))
    const limitMs = this.#limitMs(configured)
    return { configured, ageMs, limitMs, isTooOld: ageMs > limitMs && !this.#isLeftAlone(configured) }
  }

  #limitMs({ source, maxAgeMs }: ConfiguredSource): number {
    return maxAgeMs ?? Math.max(DAY_MS, MISSED_LOOKS * this.#periods.of(source.schedule))
  }

  /** A source that is deliberately not pulled is never too old. */
  #isLeftAlone({ source }: ConfiguredSource): boolean {
    const { config, decisions, freshMs } = this.#parts
    if (decisions().get(source.id)?.hold?.noPoll === true || freshMs(source.id) > 0) return true
    return config.mode.offline && isAway(source)
  }
}

const DAY_MS = 86_400_000

/** With a schedule that skips weekends, the time between two polls is sometimes three times the usual one. */
const MISSED_LOOKS = 4
