import { isAbortError } from '../../../base/async/abort-error.ts'
import { resultWithin } from '../../../base/async/wait-at-most.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'

/** The work of a `CatchUp`. */
export interface CatchUpParts extends Pick<DaemonContext, 'clock'> {
  /** Brings this process to the state of the database. `onBegin` is called when it begins. */
  readonly follow: (onBegin: () => void, signal: AbortSignal) => Promise<unknown>
  readonly signal: AbortSignal
}

/** Looks into the database for requests that want more than this process has: one look for all that wait, now and then. */
export class CatchUp {
  readonly #parts: CatchUpParts
  /** The look that has not begun yet. */
  #next: Promise<boolean> | undefined
  #begunMs = Number.NEGATIVE_INFINITY

  constructor(parts: CatchUpParts) {
    this.#parts = parts
  }

  /** Resolves after a look that began after this call; with false if it failed, or takes long. */
  async caughtUp(): Promise<boolean> {
    this.#next ??= this.#look()
    return (await resultWithin(MOST_WAIT_MS, this.#next, this.#parts.clock)) === true
  }

  async #look(): Promise<boolean> {
    const { clock, follow, signal } = this.#parts
    const onBegin = (): void => {
      this.#next = undefined
      this.#begunMs = clock.monotonicMs()
    }
    try {
      await clock.wait(this.#begunMs + PAUSE_MS - clock.monotonicMs(), signal)
      await follow(onBegin, signal)
      return true
    } catch (error) {
      // The keeper of the channel reports it.
      if (error instanceof SyncError || isAbortError(error)) return false
      throw error
    }
  }
}

/** A client that waits longer is better served by an answer that it shall try again. */
const MOST_WAIT_MS = 5_000

/** The pause between two looks: anyone can ask for what does not exist. */
const PAUSE_MS = 250
