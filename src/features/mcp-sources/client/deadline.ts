import { SyncError } from '../../../sync/model/sync-error.ts'
import { connectionFailure } from '../../../sync/upstream/http/http-failure.ts'
import { Unanswered } from './channel.ts'

/** The timer of one exchange: a timeout ends the exchange with a reason. */
export class Deadline {
  /** Aborted with the caller's signal or by a timeout. */
  readonly signal: AbortSignal
  readonly #what: string
  readonly #caller: AbortSignal
  readonly #over = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #why: SyncError | undefined

  constructor(what: string, caller: AbortSignal) {
    this.#what = what
    this.#caller = caller
    this.signal = AbortSignal.any([caller, this.#over.signal])
  }

  /** Starts the timeout for the next byte. */
  expect(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#why = new Unanswered(`${this.#what}: nothing came within ${ms} ms`)
      this.#over.abort()
    }, ms)
  }

  /** Stops the timeout, because the byte came. */
  rest(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the exchange at any stage. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#over.abort()
  }

  /**
   * Returns the real reason for an error of the exchange: the caller's abort, the timeout, or the connection's failure.
   */
  explain(cause: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason
    if (this.#why !== undefined) return this.#why
    return cause instanceof SyncError ? cause : connectionFailure(cause, this.#what)
  }
}
