import { isSyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Remedy, SyncErrorCode } from '../../sync/model/sync-error.ts'

/** The codes of all errors that commands and the control socket give to an operator. */
export type OperatorErrorCode = SyncErrorCode | keyof typeof EXIT_STATUS

/** The exit status of a command that fails with the code; 2 if the request contradicts the configuration. */
const EXIT_STATUS = {
  'already-there': 1,
  'ambiguous-commit': 1,
  'ambiguous-skill': 1,
  'bad-answer': 1,
  'bad-config': 2,
  'bad-request': 1,
  'cannot-link': 1,
  'cannot-listen': 1,
  'cannot-unlink': 1,
  held: 1,
  'connection-lost': 1,
  disabled: 1,
  'file-refused': 1,
  internal: 1,
  'lock-of-repository': 2,
  'needs-restart': 2,
  'no-config': 1,
  'no-daemon': 1,
  'no-home': 2,
  'nothing-served': 1,
  'nothing-to-decide': 1,
  'other-config': 2,
  'other-state': 1,
  'other-version': 1,
  'scan-failed': 1,
  stopped: 1,
  'template-refused': 1,
  'timed-out': 1,
  'token-exists': 1,
  'unknown-commit': 1,
  'unknown-generation': 1,
  'unknown-method': 1,
  'unknown-plugin': 1,
  'unknown-recall': 1,
  'unknown-skill': 1,
  'unknown-source': 2,
  'unknown-template': 1,
  'unknown-token': 1,
  'uri-refused': 1,
  withheld: 1,
} as const

/** A request of an operator that failed. The message says what to try. */
export class OperatorError extends Error implements Remedy {
  override readonly name = 'OperatorError'
  readonly code: OperatorErrorCode
  /** The next step, if the message has none. */
  readonly fix: string | undefined
  readonly place: string | undefined

  constructor(code: OperatorErrorCode, message: string, options: { cause?: unknown } & Remedy = {}) {
    super(message, options)
    this.code = code
    this.fix = options.fix
    this.place = options.place
  }

  get exitStatus(): 1 | 2 {
    return isOwnCode(this.code) ? EXIT_STATUS[this.code] : 1
  }
}

/** The code with that text. A daemon of another version may send codes that this one does not have: they are `internal`. */
export function operatorErrorCodeOf(text: string): OperatorErrorCode {
  return isSyncErrorCode(text) || isOwnCode(text) ? text : 'internal'
}

function isOwnCode(text: string): text is keyof typeof EXIT_STATUS {
  return Object.hasOwn(EXIT_STATUS, text)
}
