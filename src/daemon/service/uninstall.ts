import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { UsageError } from '../base/usage-error.ts'
import type { Environment } from '../config/environment.ts'
import { whatIsAt } from './install.ts'

/** A removal of the files of a service. */
export interface Uninstall {
  readonly paths: readonly string[]
  /** The manager to stop the service with first; `undefined` for a manager that is not controlled from here. */
  readonly manager: 'system' | 'user' | undefined
  /** True to remove files that skillsyncd did not write, too. */
  readonly isForced: boolean
}

/** The removed files, and the error of the manager if it could not stop the service. */
export interface Uninstalled {
  readonly removed: readonly string[]
  readonly failure: string | undefined
}

/** Stops and disables the service, and removes its files. A file that skillsyncd did not write is refused first. */
export async function uninstall(
  { paths, manager, isForced }: Uninstall,
  environment: Environment,
  signal: AbortSignal,
): Promise<Uninstalled> {
  const found = await Promise.all(paths.map(async (path) => ({ path, content: await whatIsAt({ path, text: '' }) })))
  const foreign = found.find(({ content }) => content === 'foreign')
  if (foreign !== undefined && !isForced)
    throw new UsageError(
      `Cannot remove "${foreign.path}": skillsyncd did not write it; --force removes it all the same`,
    )
  const removed = found.filter(({ content }) => content !== 'nothing').map(({ path }) => path)
  if (removed.length === 0) return { removed, failure: undefined }
  const systemctl = async (...args: readonly string[]): Promise<string | undefined> =>
    manager === undefined
      ? undefined
      : runSystemctl([...(manager === 'user' ? ['--user'] : []), ...args], environment, signal)
  // While the files are there: without them, systemctl knows no unit to disable.
  const failure = await systemctl('disable', '--now', ...removed.map((path) => basename(path)))
  for (const path of removed) await rm(path, { force: true })
  await systemctl('daemon-reload')
  return { removed, failure }
}

/** Returns the error of systemctl; `undefined` if there is none. */
async function runSystemctl(
  args: readonly string[],
  { path, home, runtime }: Environment,
  signal: AbortSignal,
): Promise<string | undefined> {
  const env = { PATH: path, HOME: home, LC_ALL: 'C.UTF-8', ...(runtime !== undefined && { XDG_RUNTIME_DIR: runtime }) }
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
  execFile('systemctl', args, { env, signal, timeout: TIMEOUT_MS }, (error, _stdout, stderr) => {
    if (error?.code === 'ABORT_ERR') return reject(error)
    if (error?.code === 'ENOENT') return resolve('there is no systemctl')
    resolve(error === null ? undefined : stderr.trim() || error.message)
  })
  return promise
}

/** A daemon ends within half a minute; systemd kills it after 90 seconds. */
const TIMEOUT_MS = 100_000
