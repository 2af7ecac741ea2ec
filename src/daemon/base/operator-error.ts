/**
 * Why a request failed. The code is that of a `SyncError`; `unknown-method`, `bad-request`, `limit-exceeded`, `stopped`,
 * `internal`, or one that a handler chose; of the connection itself, `timed-out`, `connection-lost` or `bad-answer`.
 */
export class ControlError extends Error {
  override readonly name = 'ControlError'
  readonly code: string

  constructor(code: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.code = code
  }
}
