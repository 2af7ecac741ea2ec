import { setImmediate as turn } from 'node:timers/promises'
import { isAbortError } from '../../../base/async/abort-error.ts'
import type { Clock } from '../../../base/async/clock.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'

export interface TriggerDebounceOptions {
  readonly clock: Clock
  /** The remaining backoff of the host of a source. */
  readonly closedMs: (id: SourceId) => number
  /** Pulls a source. It rejects only if it is stopped, or with an error that must end the process. */
  readonly pull: (id: SourceId) => Promise<unknown>
}

/**
 * Pulls sources that are reported as changed: at once, but no sooner than the gap after the last such pull, and not
 * during a backoff of the host. Any number of triggers meanwhile leads to one more pull.
 */
export class TriggerDebounce implements Disposable {
  readonly #options: TriggerDebounceOptions
  readonly #stop = new AbortController()
  /** The sources that are being pulled, or in their gap. `isDue` is true if a trigger came since the pull began. */
  readonly #followed = new Map<SourceId, { isDue: boolean }>()

  constructor(options: TriggerDebounceOptions) {
    this.#options = options
  }

  nudge(id: SourceId): void {
    if (this.#stop.signal.aborted) return
    const followed = this.#followed.get(id)
    if (followed !== undefined) {
      followed.isDue = true
      return
    }
    // It rejects only if a pull did, with an error that must end the process.
    void this.#follow(id)
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  async #follow(id: SourceId): Promise<void> {
    const state = { isDue: true }
    this.#followed.set(id, state)
    try {
      while (state.isDue) {
        await this.#untilOpen(id)
        await this.#untilToldWhole()
        // A trigger from here on may be about a commit that this pull does not see.
        state.isDue = false
        await this.#options.pull(id)
        await this.#wait(GAP_MS)
      }
    } catch (error) {
      if (!isAbortError(error)) throw error
    } finally {
      this.#followed.delete(id)
    }
  }

  async #untilOpen(id: SourceId): Promise<void> {
    const { closedMs } = this.#options
    for (let ms = closedMs(id); ms > 0; ms = closedMs(id)) await this.#wait(ms)
  }

  /** One change is reported in several messages a moment apart: one pull answers them all. */
  async #untilToldWhole(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await turn()
    this.#stop.signal.throwIfAborted()
  }

  async #wait(ms: number): Promise<void> {
    await this.#options.clock.wait(ms, this.#stop.signal)
  }
}

const GAP_MS = 1_000

/** Messages of one read of a connection arrive within this many rounds of the event loop. */
const TURNS = 2
