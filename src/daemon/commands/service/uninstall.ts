import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { isDiskError } from '../../../sync/store/files/disk-error.ts'
import type { Environment } from '../../config/environment.ts'
import { whyNotUsed } from '../../runtime/disk-error-text.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { whatIsAt } from './install.ts'
import { NO_MANAGER, askManager } from './service-commands.ts'

/** A removal of the files of a service. */
export interface Uninstall {
  readonly paths: readonly string[]
  /** The manager to stop the service with first; `undefined` for a manager that is not controlled from here. */
  readonly manager: 'system' | 'user' | undefined
  /** True to remove files that skillsyncd did not write, too. */
  readonly isForced: boolean
}

/**
 * Stops and disables the service, and removes its files. Returns the paths of the removed files. Throws `UsageError`
 * before anything is removed if skillsyncd did not write a file, or if the manager cannot stop the service, unless that
 * is forced.
 */
export async function uninstall(
  { paths, manager, isForced }: Uninstall,
  environment: Environment,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await Promise.all(paths.map(async (path) => ({ path, content: await whatIsAt({ path }) })))
  const foreign = found.find(({ content }) => content === 'foreign')
  if (foreign !== undefined && !isForced)
    throw new UsageError(
      `Cannot remove "${foreign.path}": skillsyncd did not write it; --force removes it all the same`,
    )
  const present = found.filter(({ content }) => content !== 'nothing').map(({ path }) => path)
  if (present.length === 0) return []
  const systemctl = async (...args: readonly string[]): Promise<string | undefined> =>
    manager && askManager(manager, args, environment, signal)
  // While the files are there: without them, systemctl knows no unit to disable.
  const answer = await systemctl('disable', '--now', ...present.map((path) => basename(path)))
  // Without systemctl there is no service that runs.
  const failure = answer === NO_MANAGER ? undefined : answer
  if (failure !== undefined && !isForced)
    throw new UsageError(`Cannot stop the service: ${failure}; --force removes its files all the same`)
  const isStopped = manager !== undefined && failure === undefined
  try {
    await removeEach(present, isStopped ? ['the service is stopped'] : [])
  } finally {
    await systemctl('daemon-reload')
  }
  return present
}

/** `done`: what an error says is done already. */
async function removeEach(paths: readonly string[], done: readonly string[]): Promise<void> {
  const removed: string[] = []
  for (const path of paths) {
    try {
      await rm(path, { force: true })
    } catch (error) {
      if (!isDiskError(error)) throw error
      const all = [...done, ...removed.map((gone) => `${gone} is removed`)]
      throw new UsageError(`Cannot remove "${path}": ${[whyNotUsed(error), ...all].join('; ')}`)
    }
    removed.push(path)
  }
}
