import type { Clock } from '../../../base/clock.ts'
import type { Environment } from '../../config/environment.ts'
import type { Config } from '../../config/config.ts'
import type { Redactor } from '../../base/redactor.ts'

/** One question about this machine. A check that throws has found something too. */
export interface Check {
  readonly name: CheckName
  /** What of the configuration it is about. */
  readonly subject?: string
  look(signal: AbortSignal): Promise<readonly Checked[]>
}

/** What checks look at. They change nothing that stays. */
export interface Ground {
  /** The configuration with the sources that are examined. */
  readonly config: Config
  /** The same with all of its sources: the one that a running daemon has. */
  readonly whole: Config
  readonly environment: Environment
  /** Is told of every secret that is read, before anything is said. */
  readonly redactor: Redactor
  readonly clock: Clock
}

/** What one look found. */
export interface Checked {
  readonly check: CheckName
  readonly state: CheckState
  readonly subject?: string
  readonly message: string
  /** What a person can try; with all that is not well. */
  readonly mend?: string
}

/** `warn`: it works, and will not always. `fail`: something does not work. */
export type CheckState = 'ok' | 'warn' | 'fail'

/** Stable, for programs. Each has a heading in `docs/doctor.md`. */
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
  | 'clock'
  | 'folder'
  | 'watches'
  | 'links'
  | 'contract'
  | 'service'
  | 'second-opinion'
  | 'connect'

/** The ways in which one check about one thing can end. */
export interface Verdicts {
  readonly ok: (message: string) => Checked
  readonly warn: (message: string, mend: string) => Checked
  readonly fail: (message: string, mend: string) => Checked
}

export function verdicts(check: CheckName, subject?: string): Verdicts {
  const about = { check, ...(subject !== undefined && { subject }) }
  return {
    ok: (message) => ({ ...about, state: 'ok', message }),
    warn: (message, mend) => ({ ...about, state: 'warn', message, mend }),
    fail: (message, mend) => ({ ...about, state: 'fail', message, mend }),
  }
}
