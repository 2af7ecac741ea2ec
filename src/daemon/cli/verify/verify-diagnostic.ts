/** One result of a check. A note is not a fault, and does not count. */
export interface VerifyDiagnostic {
  readonly kind: 'finding' | 'note'
  readonly code: RemarkCode
  readonly source?: string
  /** The skill, by its real path. */
  readonly skill?: string
  /** The file of the skill. */
  readonly path?: string
  readonly message: string
}

/** Stable, for programs. A failure of an upstream has the code of its error. */
export type RemarkCode =
  | 'decisions-damaged'
  | 'decisions-lost'
  | 'lock-unreadable'
  | 'lock-missing'
  | 'lock-mismatch'
  | 'lock-differs'
  | 'lock-not-served'
  | 'generation-damaged'
  | 'generation-unpublished'
  | 'snapshot-damaged'
  | 'file-damaged'
  | 'stranger'
  | 'proof-damaged'
  | 'proof-missing'
  | 'upstream-not-asked'
  | 'upstream-moved'
  | 'commit-gone'
  | 'second-opinion-differs'
  | 'not-compared'
  | (string & {})

export function finding(code: RemarkCode, message: string, where: Where = {}): VerifyDiagnostic {
  return { kind: 'finding', code, ...where, message }
}

export function note(code: RemarkCode, message: string, where: Where = {}): VerifyDiagnostic {
  return { kind: 'note', code, ...where, message }
}

type Where = Pick<VerifyDiagnostic, 'source' | 'skill' | 'path'>
