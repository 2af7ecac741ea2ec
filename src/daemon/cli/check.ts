import type { Clock } from '../../base/async/clock.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'

/** One check of this machine. An error that it throws counts as a finding. */
export interface DoctorCheck {
  readonly name: CheckName
  /** The part of the configuration that it concerns. */
  readonly subject?: string
  look(signal: AbortSignal): Promise<readonly CheckResult[]>
}

/** The input of the checks. They change nothing permanently. */
export interface Ground {
  /** The configuration with the sources to check. */
  readonly config: Config
  /** The configuration with all its sources: the one of a running daemon. */
  readonly whole: Config
  readonly environment: Environment
  /** Gets every secret that is read, before any output. */
  readonly redactor: Redactor
  readonly clock: Clock
}

/** One result of a check. */
export interface CheckResult {
  readonly check: CheckName
  readonly state: CheckState
  readonly subject?: string
  readonly message: string
  /** A remedy for the operator; present unless all is well. */
  readonly mend?: string
}

/** `warn`: it works, but may fail later. `fail`: it does not work. */
export type CheckState = 'ok' | 'warn' | 'fail'

/** Stable, for programs. Each name has a heading in `docs/troubleshooting.md`. */
export type CheckName =
  | 'node'
  | 'configuration'
  | 'program'
  | 'state-folder'
  | 'decisions'
  | 'disk'
  | 'socket'
  | 'lock'
  | 'listen'
  | 'tokens'
  | 'descriptors'
  | 'secret'
  | 'trust'
  | 'host'
  | 'lock-origin'
  | 'database'
  | 'clock'
  | 'folder'
  | 'watches'
  | 'links'
  | 'contract'
  | 'offers'
  | 'dependencies'
  | 'service'
  | 'second-opinion'
  | 'connect'

/** The possible results of one check on one subject. */
export interface Verdicts {
  readonly ok: (message: string) => CheckResult
  readonly warn: (message: string, mend: string) => CheckResult
  readonly fail: (message: string, mend: string) => CheckResult
}

export function verdicts(check: CheckName, subject?: string): Verdicts {
  const about = { check, ...(subject !== undefined && { subject }) }
  return {
    ok: (message) => ({ ...about, state: 'ok', message }),
    warn: (message, mend) => ({ ...about, state: 'warn', message, mend }),
    fail: (message, mend) => ({ ...about, state: 'fail', message, mend }),
  }
}
