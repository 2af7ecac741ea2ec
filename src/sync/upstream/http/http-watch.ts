import { SyncError } from '../../model/sync-error.ts'
import { connectionFailure } from './http-failure.ts'

/** A request that must not take forever. */
export interface WatchedRequest {
  /** In milliseconds: until the first byte, between two bytes, and in total. */
  readonly limits: { readonly connectMs: number; readonly idleMs: number; readonly totalMs: number }
  readonly signal: AbortSignal
}

/** The timeouts of one request: until the first byte, between two bytes, and in total. */
export class HttpWatch {
  readonly #what: string
  readonly #request: WatchedRequest
  readonly #controller = new AbortController()
  readonly #total: NodeJS.Timeout
  #pause: NodeJS.Timeout
  #isOverdue: SyncError | undefined

  constructor(what: string, request: WatchedRequest) {
    const { limits, signal } = request
    signal.throwIfAborted()
    signal.addEventListener('abort', this.#abort)
    this.#what = what
    this.#request = request
    this.#total = this.#alarm(limits.totalMs, `not done after ${limits.totalMs} ms`)
    this.#pause = this.#alarm(limits.connectMs, `no answer within ${limits.connectMs} ms`)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  heard(): void {
    const { idleMs } = this.#request.limits
    clearTimeout(this.#pause)
    this.#pause = this.#alarm(idleMs, `nothing more came within ${idleMs} ms`)
  }

  stop(): void {
    clearTimeout(this.#total)
    clearTimeout(this.#pause)
    this.#request.signal.removeEventListener('abort', this.#abort)
    // Aborts whatever is still on its way.
    this.#controller.abort()
  }

  /**
   * Returns the real reason for an error of this request: the caller's abort, a timeout, or the connection's failure.
   */
  explain(cause: unknown): unknown {
    this.#request.signal.throwIfAborted()
    if (this.#isOverdue !== undefined) return this.#isOverdue
    return cause instanceof SyncError ? cause : connectionFailure(cause, this.#what)
  }

  #alarm(ms: number, message: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.#isOverdue = new SyncError('source-unreachable', `${this.#what}: ${message}`)
      this.#controller.abort()
    }, ms)
  }

  readonly #abort = () => this.#controller.abort()
}
