/**
 * A statement for people about a skill, a configuration, a lock, a store or a contract. Each kind has a closed union of
 * codes, and members of its own for the place.
 */
export interface Diagnostic<Code extends string> {
  /** Stable, for programs, in kebab case. */
  readonly code: Code
  /** Absent if the code alone decides it. */
  readonly severity?: Severity
  /** The problem, with the values. */
  readonly message: string
  /** The action to try. Absent if the code alone decides it, or if the message has it. */
  readonly fix?: string
}

/** `error`: something is broken or refused. `warning`: it works, and should be mended. `note`: nothing to mend. */
export type Severity = 'error' | 'warning' | 'note'
