import { stat } from 'node:fs/promises'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { ProgramFailedError, runProgram } from '../../runtime/run-program.ts'

/** Checks the state of our systemd units. No unit is fine: running as a service is optional. */
export function serviceChecks(ground: Ground, booted = BOOTED): Check[] {
  return [
    {
      name: 'service',
      async look(signal) {
        const { ok } = verdicts('service')
        if ((await unlessAbsent(stat(booted))) === undefined) return [ok('systemd does not run here')]
        const units = await Promise.all(SCOPES.map(async (scope) => unitOf(scope, ground, signal)))
        const found = units.flatMap((unit) => (typeof unit === 'object' ? resultsOf(unit) : []))
        if (found.length > 0) return found
        const silent = SCOPES.filter((_, index) => units[index] === 'no-answer')
        if (silent.length === 0) return [ok(`systemd has no ${UNIT}: it is started by hand, or by others`)]
        return silent.map((scope) => verdicts('service', `${UNIT} (${scope})`).unknown(NO_ANSWER, WHERE[scope]))
      },
    },
  ]
}

/** See sd_booted(3). */
export const BOOTED = '/run/systemd/system'
const UNIT = 'skillsyncd.service'
const SCOPES = ['system', 'user'] as const

const NO_ANSWER = 'its service manager does not answer here'
const WHERE = {
  system: `systemctl status ${UNIT} shows it, on the host of this container`,
  user: `systemctl --user status ${UNIT} shows it, in a session of the user`,
}

interface Unit {
  readonly scope: (typeof SCOPES)[number]
  readonly active: string
  readonly enabled: string
}

/** `undefined` if there is no unit. Not every session has a user manager that answers. */
async function unitOf(
  scope: Unit['scope'],
  { environment: { path, runtime, home } }: Ground,
  signal: AbortSignal,
): Promise<Unit | 'no-answer' | undefined> {
  const env = { PATH: path, HOME: home, LC_ALL: 'C', ...(runtime !== undefined && { XDG_RUNTIME_DIR: runtime }) }
  const args = [`--${scope}`, 'show', UNIT, '--property=LoadState,ActiveState,UnitFileState']
  const call = { command: 'systemctl', args, env, input: '' }
  try {
    const { status, stdout } = await runProgram(call, { timeoutMs: 5_000, outputBytes: 65_536, signal })
    const lines = Buffer.from(stdout).toString().trim().split('\n')
    const values = new Map(lines.map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]))
    if (status !== 0) return 'no-answer'
    if (values.get('LoadState') !== 'loaded') return undefined
    return { scope, active: values.get('ActiveState') ?? '', enabled: values.get('UnitFileState') ?? '' }
  } catch (error) {
    if (error instanceof ProgramFailedError) return 'no-answer'
    throw error
  }
}

function resultsOf({ scope, active, enabled }: Unit): CheckResult[] {
  const subject = `${UNIT} (${scope})`
  const { ok, warn, fail } = verdicts('service', subject)
  const options = scope === 'user' ? ' --user' : ''
  if (active === 'failed') return [fail('it failed', `journalctl${options} -u ${UNIT} shows the reason`)]
  if (active !== 'active' && active !== 'reloading' && active !== 'activating')
    return [warn(`it is installed and not running (${active})`, `systemctl${options} start ${UNIT}`)]
  if (enabled === 'disabled')
    return [warn('it runs, and is not started with the machine', `systemctl${options} enable ${UNIT}`)]
  return [ok(`it is ${active}`)]
}
