import { setImmediate as turn } from 'node:timers/promises'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isAbortError } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'

export interface NudgeOptions {
  readonly clock: Clock
  /** How long the host of a source is still to be left alone. */
  readonly closedMs: (id: SourceId) => number
  /** What a pull is. It never rejects but when it is stopped or in ways that end the process. */
  readonly pull: (id: SourceId) => Promise<unknown>
}

/**
 * Pulls sources of which others say that there may be news: at once, but no sooner than the gap after the last such pull of
 * the source, and not while its host is to be left alone. However often it is said meanwhile, one more pull answers it all.
 */
export class Nudges implements Disposable {
  readonly #options: NudgeOptions
  readonly #stop = new AbortController()
  /** The sources that are pulled, or in their gap, and whether they were nudged since the pull began. */
  readonly #followed = new Map<SourceId, { isDue: boolean }>()

  constructor(options: NudgeOptions) {
    this.#options = options
  }

  nudge(id: SourceId): void {
    if (this.#stop.signal.aborted) return
    const followed = this.#followed.get(id)
    if (followed !== undefined) {
      followed.isDue = true
      return
    }
    // It rejects only where a pull did, in a way that is to end the process.
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
        // What is said from here on may be about a commit that this pull does not see.
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

  /** One change is told in several messages, which come a moment apart: one pull answers them all. */
  async #untilToldWhole(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await turn()
    this.#stop.signal.throwIfAborted()
  }

  async #wait(ms: number): Promise<void> {
    await this.#options.clock.wait(ms, this.#stop.signal)
  }
}

const GAP_MS = 1_000

/** What is in one read of a connection is told in as many rounds of the loop. */
const TURNS = 2
