import { ignoreAbort } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'

/** A pull of a source that runs or will run soon. */
export interface Look {
  /** It rejects only with an error that must end the process. */
  readonly ended: Promise<void>
  /** The time of the request, on the monotonic clock. */
  readonly sinceMs: number
}

/**
 * Pulls that begin after their request. All requests before one begins share it. After each there is a pause as long as
 * the pull, within 50 ms and 5 s: constant requests keep a source busy at most half of the time, unless its pulls take
 * over 5 s.
 */
export class RefreshCoalescer {
  readonly #clock: Clock
  readonly #pull: (id: SourceId) => Promise<unknown>
  /** The pulls that have not begun. */
  readonly #coming = new Map<SourceId, Look>()
  /** The time from which the next pull may begin; known when the last one has ended. */
  readonly #rests = new Map<SourceId, Promise<number>>()

  constructor(clock: Clock, pull: (id: SourceId) => Promise<unknown>) {
    this.#clock = clock
    this.#pull = pull
  }

  at(id: SourceId): Look {
    const look = this.#coming.get(id) ?? { ended: this.#lookAt(id), sinceMs: this.#clock.monotonicMs() }
    this.#coming.set(id, look)
    return look
  }

  async #lookAt(id: SourceId): Promise<void> {
    const restedMs = (await this.#rests.get(id)) ?? 0
    await this.#clock.wait(restedMs - this.#clock.monotonicMs(), NEVER)
    // The pull may miss later changes: later requests get the next one.
    this.#coming.delete(id)
    const rest = this.#begin(id)
    this.#rests.set(id, rest)
    await rest
  }

  async #begin(id: SourceId): Promise<number> {
    const startMs = this.#clock.monotonicMs()
    await this.#pull(id).catch(ignoreAbort)
    const endMs = this.#clock.monotonicMs()
    return endMs + Math.min(LONGEST_REST_MS, Math.max(SHORTEST_REST_MS, endMs - startMs))
  }
}

const SHORTEST_REST_MS = 50
const LONGEST_REST_MS = 5_000

/** The pull runs even if the caller has left. */
const NEVER = new AbortController().signal
