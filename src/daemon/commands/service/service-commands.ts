import { execFile } from 'node:child_process'
import type { Environment } from '../../config/environment.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'

/** The program of a service manager, and its first words. */
export const MANAGERS = {
  system: ['systemctl'],
  user: ['systemctl', '--user'],
  launchd: ['launchctl'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Manager = keyof typeof MANAGERS

/** Returns the error of the manager; `undefined` if there is none, `absent` if the program is not there. */
export async function askManager(
  manager: Manager,
  args: readonly string[],
  { path, home, runtime }: Environment,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [program, ...first] = MANAGERS[manager]
  const env = { PATH: path, HOME: home, LC_ALL: 'C.UTF-8', ...(runtime !== undefined && { XDG_RUNTIME_DIR: runtime }) }
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
  execFile(program, [...first, ...args], { env, signal, timeout: TIMEOUT_MS }, (error, _stdout, stderr) => {
    if (error?.code === 'ABORT_ERR') return reject(error)
    if (error?.code === 'ENOENT') return resolve(NO_MANAGER)
    resolve(error === null ? undefined : printableLine(stderr.trim() || error.message))
  })
  return promise
}

/** In place of an error of the manager: its program is not there. */
export const NO_MANAGER = 'absent'

/** A daemon ends within half a minute; systemd kills it after 90 seconds. */
const TIMEOUT_MS = 100_000

/** Has the manager do each of these, in turn. Throws `UsageError` for the first that fails. */
export async function expectDone(
  manager: Manager,
  steps: readonly (readonly string[])[],
  environment: Environment,
  signal: AbortSignal,
): Promise<void> {
  for (const args of steps) {
    const failure = await askManager(manager, args, environment, signal)
    if (failure === undefined) continue
    const why = failure === NO_MANAGER ? 'it is not on PATH' : failure
    const command = [...MANAGERS[manager], ...args].join(' ')
    throw new UsageError(`The service is installed, but ${command} failed: ${why}; run it by hand`)
  }
}
