import { SyncError } from '../../../model/sync-error.ts'
import { connectionFailure } from '../../http/http-failure.ts'
import { Unanswered } from './channel.ts'

/** The clock of one exchange: what does not come in time ends it, with a reason. */
export class Patience {
  /** Aborted with the caller's, or when the time is over. */
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

  /** The next byte is to come within so long. */
  expect(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#why = new Unanswered(`${this.#what}: nothing came within ${ms} ms`)
      this.#over.abort()
    }, ms)
  }

  /** It came, and when the next one does is not watched. */
  rest(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the exchange, however far it has come. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#over.abort()
  }

  /** What an error of the exchange really is: the caller's own abort, the time that is over, or the connection's. */
  explain(cause: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason
    if (this.#why !== undefined) return this.#why
    return cause instanceof SyncError ? cause : connectionFailure(cause, this.#what)
  }
}
