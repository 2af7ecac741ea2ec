import type { Diagnostic } from '../../../base/diagnostic.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import type { OperatorErrorCode } from '../../runtime/operator-error.ts'

/** One result of a check. A note is not a fault, and does not count. */
export interface VerifyDiagnostic extends Diagnostic<VerifyCode> {
  readonly severity: 'error' | 'note'
  readonly source?: string
  /** The skill, by its real path. */
  readonly skill?: string
  /** The file of the skill. */
  readonly path?: string
}

/** Stable, for programs. A failure of an upstream has the code of its error. */
export type VerifyCode =
  | 'decisions-damaged'
  | 'decisions-lost'
  | 'lock-unreadable'
  | 'lock-missing'
  | 'lock-mismatch'
  | 'lock-differs'
  | 'lock-not-served'
  | 'generation-damaged'
  | 'database-damaged'
  | 'object-damaged'
  | 'snapshot-damaged'
  | 'file-damaged'
  | 'checkout-edited'
  | 'stranger'
  | 'proof-damaged'
  | 'proof-missing'
  | 'upstream-not-asked'
  | 'upstream-moved'
  | 'commit-gone'
  | 'second-opinion-differs'
  | 'not-compared'
  | 'links-damaged'
  | 'lock-not-followed'
  | 'tag-moved'
  | 'history-rewritten'
  | 'log-not-read'
  | OperatorErrorCode

/** A diagnostic that counts as a fault. */
export function verifyError(code: VerifyCode, message: string, where: Where = {}): VerifyDiagnostic {
  return { severity: 'error', code, ...where, message }
}

/** A diagnostic that is no fault. */
export function verifyNote(code: VerifyCode, message: string, where: Where = {}): VerifyDiagnostic {
  return { severity: 'note', code, ...where, message }
}

type Where = Pick<VerifyDiagnostic, 'source' | 'skill' | 'path'>

/** The diagnostic as one line of text. */
export function diagnosticLine({ code, source, skill, path, message }: Omit<VerifyDiagnostic, 'severity'>): string {
  const place = [source, skill, path].filter((part) => part !== undefined && part !== '').join(' ')
  return printableLine(`${code}${place === '' ? '' : ` ${place}`}: ${message}`)
}
