import type { Decisions } from '../../sync/decisions/decisions.ts'
import { isAway } from '../../sync/model/source.ts'
import type { Source } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SourceRecord } from '../../sync/store/source-records.ts'
import type { Clock } from '../../base/clock.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import { Periods } from './poll-interval.ts'

/** How long ago a source last had an answer, and how long ago that may be. */
export interface Age {
  readonly configured: ConfiguredSource
  /** Infinite where it never had one. */
  readonly ageMs: number
  readonly limitMs: number
  /** Older than it may be, though nobody decided that it be left alone. */
  readonly isTooOld: boolean
}

export interface AgesParts {
  readonly config: Config
  readonly clock: Pick<Clock, 'now'>
  readonly recordOf: (source: Source) => SourceRecord
  readonly decisions: () => Decisions
  /** How much longer what the last look found is fresh, by the word of the server itself. */
  readonly freshMs: (id: SourceId) => number
}

/** How old what is known of each source is. */
export class Ages {
  readonly #parts: AgesParts
  readonly #periods: Periods

  constructor(parts: AgesParts) {
    this.#parts = parts
    this.#periods = new Periods(parts.clock)
  }

  /** Of all sources, in their order. */
  all(): readonly Age[] {
    return this.#parts.config.sources.map((configured) => this.#of(configured))
  }

  #of(configured: ConfiguredSource): Age {
    const { source } = configured
    const { lastSuccess } = this.#parts.recordOf(source)
    const nowMs = this.#parts.clock.now().getTime()
    // A clock that was set back makes nothing younger than new.
    const ageMs = lastSuccess === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - Date.parse(lastSuccess))
    const limitMs = this.#limitMs(configured)
    return { configured, ageMs, limitMs, isTooOld: ageMs > limitMs && !this.#isLeftAlone(configured) }
  }

  #limitMs({ source, maxAgeMs }: ConfiguredSource): number {
    return maxAgeMs ?? Math.max(DAY_MS, MISSED_LOOKS * this.#periods.of(source.schedule))
  }

  /** What nobody looks at on purpose is as old as was wanted. */
  #isLeftAlone({ source }: ConfiguredSource): boolean {
    const { config, decisions, freshMs } = this.#parts
    if (decisions().get(source.id)?.paused === true || freshMs(source.id) > 0) return true
    return config.mode.offline && isAway(source)
  }
}

const DAY_MS = 86_400_000

/** Of a schedule that leaves out weekends, the time between two looks is three times the usual one now and then. */
const MISSED_LOOKS = 4
