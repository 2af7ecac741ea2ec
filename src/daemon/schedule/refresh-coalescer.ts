import type { SourceId } from '../../sync/model/source-id.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'

/** A look at a source that is under way, or about to be. */
export interface Look {
  /** It rejects only in a way that is to end the process. */
  readonly ended: Promise<void>
  /** When it was asked for, by the monotonic clock. */
  readonly sinceMs: number
}

/**
 * Looks that begin after they are asked for. All who ask before one has begun share it, and after one there is a rest as long
 * as it was: whoever asks without end has a source looked at half of the time at most.
 */
export class NewLooks {
  readonly #clock: Clock
  readonly #pull: (id: SourceId) => Promise<unknown>
  /** Those that have not begun. */
  readonly #coming = new Map<SourceId, Look>()
  /** Of the last one that began, when the next one may: known when it has ended. */
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
    // What changes from here on may be seen too late: who asks then is given the next one.
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

/** Whoever asked may have left: the look comes all the same. */
const NEVER = new AbortController().signal
