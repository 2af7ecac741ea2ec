import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isSystemError } from '../../sync/model/sync-error.ts'
import { environmentOf } from './environment.ts'
import type { Environment } from './environment.ts'

/** The environment of this process. No other module reads `process.env`. */
export function processEnvironment(): Environment {
  return environmentOf(process.env, ownHome())
}

/** The home in the user database; `undefined` for a user without an entry, as in a container with an arbitrary user id. */
function ownHome(): string | undefined {
  try {
    const { homedir } = userInfo()
    return isAbsolute(homedir) ? homedir : undefined
  } catch (error) {
    if (!isSystemError(error)) throw error
    return undefined
  }
}

/** The name of the user that runs this process; its number, if it has no entry in the user database. */
export function userName(): string {
  try {
    return userInfo().username
  } catch (error) {
    if (!isSystemError(error)) throw error
    return String(process.getuid?.() ?? '')
  }
}

/** The name of the person at this process: the user who called sudo, where root is only borrowed. */
export function personName(): string {
  const caller = process.env['SUDO_USER']
  return process.getuid?.() === 0 && caller !== undefined && caller !== '' ? caller : userName()
}

/**
 * Makes Node start more threads for the disk and for name lookups, unless the operator sets the number. Each name that
 * a resolver does not answer occupies one, up to half of them. It has no effect if Node has started its threads
 * already.
 */
export function prepareThreads(): void {
  if (process.env['UV_THREADPOOL_SIZE'] === undefined && hasRoomForThreads(textOf))
    process.env['UV_THREADPOOL_SIZE'] = String(THREADS)
}

/** Half of them can wait for name lookups at once. */
export const THREADS = 128

/** True if the process is far from every limit on threads. Node aborts if the system refuses a thread. */
export function hasRoomForThreads(read: (file: string) => string): boolean {
  const [, ofUser] = /^Max processes +(\S+)/m.exec(read('/proc/self/limits')) ?? []
  const folders = [...read('/proc/self/cgroup').matchAll(/^\d+:(pids|):(.*)$/gm)].flatMap(
    ([, controller = '', path = '']) => {
      const root = join('/sys/fs/cgroup', controller)
      return [root, join(root, path)]
    },
  )
  const limits = [ofUser, ...folders.map((folder) => read(join(folder, 'pids.max')).trim())]
  // Most files contain "max" or "unlimited", which is not a number.
  return !limits.some((limit) => Number.parseInt(limit ?? '', 10) < ROOM)
}

/** Leaves a wide margin for everything else that runs, including a git process for each fetch. */
const ROOM = 4 * THREADS

/** The text of a kernel file; empty if it does not exist, as on systems other than Linux. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
