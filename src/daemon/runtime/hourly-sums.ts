import type { Clock } from '../../base/async/clock.ts'
import type { SourceId } from '../../sync/model/source-id.ts'

/** The bytes of each source that were counted in the last hour, to within a second. */
export class HourlySums {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #counted = new Map<SourceId, readonly Counted[]>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  of(id: SourceId): number {
    return this.#recent(id).reduce((total, one) => total + one.bytes, 0)
  }

  add(id: SourceId, bytes: number): void {
    const atMs = this.#clock.monotonicMs()
    const before = this.#counted.get(id) ?? []
    const last = before.at(-1)
    // A server may send a million small files in an hour.
    if (last !== undefined && atMs - last.atMs < SECOND_MS) last.bytes += bytes
    else this.#counted.set(id, [...this.#recent(id), { atMs, bytes }])
  }

  #recent(id: SourceId): readonly Counted[] {
    const nowMs = this.#clock.monotonicMs()
    return (this.#counted.get(id) ?? []).filter(({ atMs }) => nowMs - atMs < HOUR_MS)
  }
}

interface Counted {
  /** The time at which the first of them were counted. */
  readonly atMs: number
  bytes: number
}

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
