import { isAbortError } from '../../base/async/abort-error.ts'
import type { Clock } from '../../base/async/clock.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { callAfter } from '../../base/async/wait-at-most.ts'
import type { Log } from '../../base/log.ts'
import { SyncError, unwrapSuppressed } from '../../sync/model/sync-error.ts'

export interface ReactionOptions {
  readonly clock: Pick<Clock, 'wait'>
  /** Subscribes to what the reaction follows, such as `registry.watch`. */
  readonly on?: (changed: () => void) => Disposable
  /**
   * One run. `isTimed`: a time has come, and not only a change. With `failures`, a `SyncError` is one, and the next run
   * makes up for it; any other error ends the process.
   */
  readonly run: (signal: AbortSignal, isTimed: boolean) => Promise<void>
  /** The milliseconds from the end of a run to the next one; without it, only a change begins one. */
  readonly againMs?: () => number | undefined
  /** Logs when the runs begin to fail, and when they recover. */
  readonly failures?: LoggedFailures
}

export interface LoggedFailures {
  readonly log: Pick<Log, 'failure' | 'recovery'>
  readonly level: 'error' | 'warn'
  readonly event: string
}

/** A pause that doubles with each failure in a row. */
export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

export function backoffMs({ firstMs, longestMs }: Backoff, failures: number): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1))
}

/**
 * Work that follows changes, or times, or both. One run goes on at a time, and any number of changes during it leads to
 * exactly one more.
 */
export class Reaction implements AsyncDisposable {
  readonly #options: ReactionOptions
  readonly #queue = new SerialQueue()
  readonly #over = new AbortController()
  #watching: Disposable | undefined
  #isQueued = false
  #isTimed = false
  /** The wait for the next time. */
  #waiting: Disposable | undefined

  constructor(options: ReactionOptions) {
    this.#options = options
  }

  /** Aborted when the reaction ends. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** True if a run is about to begin, or waits for its time. */
  get isDue(): boolean {
    return this.#isQueued || this.#waiting !== undefined
  }

  /** Follows the changes from now on. The first run comes after so many milliseconds, or else with the first change. */
  start(firstMs?: number): void {
    this.#watching ??= this.#options.on?.(() => this.trigger())
    if (firstMs === 0) this.trigger()
    else if (firstMs !== undefined) this.runAfter(firstMs)
  }

  /** Runs soon. A run that has not begun yet is enough. */
  trigger(): void {
    if (this.#isQueued || this.signal.aborted) return
    this.#isQueued = true
    // It rejects only with an error that is meant to end the process.
    void this.#queue.next(async () => {
      this.#isQueued = false
      if (!this.signal.aborted) await this.#run()
    })
  }

  /** Runs after so many milliseconds, or with a change before that; `undefined`: only with a change. */
  runAfter(ms: number | undefined): void {
    this.#waiting?.[Symbol.dispose]()
    const isSet = ms !== undefined && !this.signal.aborted
    this.#waiting = isSet ? callAfter(ms, () => this.#timeHasCome(), this.#options.clock) : undefined
  }

  /** Works like `runAfter`, unless a run is due already: one run is enough for all calls until then. */
  runWithin(ms: number): void {
    if (!this.isDue) this.runAfter(ms)
  }

  /** Does other work that must not go on beside a run. */
  async inTurn<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    return this.#queue.next(work, signal)
  }

  /** Resolves when the runs have ended that were due before the call. */
  async settled(): Promise<void> {
    await this.#queue.idle()
  }

  /** Ends the reaction, after the run that goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching?.[Symbol.dispose]()
    this.#over.abort()
    this.runAfter(undefined)
    await this.settled()
  }

  #timeHasCome(): void {
    this.#waiting = undefined
    this.#isTimed = true
    this.trigger()
  }

  async #run(): Promise<void> {
    const { run, againMs, failures } = this.#options
    const isTimed = this.#isTimed
    this.#isTimed = false
    this.runAfter(undefined)
    try {
      await run(this.signal, isTimed)
      failures?.log.recovery(failures.event, '')
    } catch (thrown) {
      this.#failed(unwrapSuppressed(thrown))
    }
    const ms = againMs?.()
    if (ms !== undefined) this.runAfter(ms)
  }

  #failed(error: unknown): void {
    if (isAbortError(error) && this.signal.aborted) return
    const { failures } = this.#options
    if (failures === undefined || !(error instanceof SyncError)) throw error
    const { code, message } = error
    failures.log.failure(failures.level, failures.event, { source: '', code, message })
  }
}
