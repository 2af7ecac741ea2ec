import type { CheckResult } from '../../src/daemon/cli/check.ts'

/** The results in the JSON of a command that checks. */
export function checksIn(stdout: string): readonly CheckResult[] {
  const { checks }: { readonly checks: readonly CheckResult[] } = JSON.parse(stdout)
  return checks
}

/** The results that end the command with 3. */
export function faultsIn(stdout: string): readonly CheckResult[] {
  return checksIn(stdout).filter(({ verdict }) => verdict === 'fail')
}

/** The results that are neither well nor a failure. */
export function notesIn(stdout: string): readonly CheckResult[] {
  return checksIn(stdout).filter(({ verdict }) => verdict !== 'fail')
}
