import { lstatSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { codeOf } from '../../base/error-code.ts'
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
 * Has Node keep compiled code for the next start in the cache of the user, which no other user can write: that code is run as
 * it is. Does nothing with NODE_DISABLE_COMPILE_CACHE, and for a user without a home.
 */
export function keepCompiledCode(): void {
  const home = process.env['HOME'] ?? ''
  const cache = process.env['XDG_CACHE_HOME'] ?? ''
  if (!isAbsolute(home)) return
  const folder = ownCacheIn(isAbsolute(cache) ? cache : join(home, '.cache'))
  if (folder !== undefined) enableCompileCache(folder)
}

/**
 * The folder for code in the cache of a user; `undefined` if it cannot be made, or another user could write to it. The cache
 * itself is not made: the home of a service is its state folder.
 */
export function ownCacheIn(cache: string): string | undefined {
  try {
    for (const folder of ['skillsyncd', 'skillsyncd/code']) makeFolder(join(cache, folder))
    const folder = realpathSync(join(cache, 'skillsyncd/code'))
    const { uid, mode } = lstatSync(folder)
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0) return undefined
    return isOursAbove(dirname(folder)) ? folder : undefined
  } catch (error) {
    if (!isSystemError(error)) throw error
    return undefined
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** True if no other user can exchange an entry of the folder, or of one above it. */
function isOursAbove(folder: string): boolean {
  const { uid, mode } = lstatSync(folder)
  const isSafe = (mode & 0o022) === 0 || (mode & STICKY) !== 0
  if (!isSafe || (uid !== 0 && uid !== process.getuid?.())) return false
  return dirname(folder) === folder || isOursAbove(dirname(folder))
}

/** In a folder with this bit, each user renames and removes only what is his own. */
const STICKY = 0o1000

/**
 * Makes Node start more threads for the disk and for name lookups, unless the operator sets the number. Each name that
 * a resolver does not answer occupies one, up to half of them. It has no effect if Node has started its threads
 * already. A command that only reads the store gets by with those that Node starts.
 */
export function prepareThreads([command = '']: readonly string[]): void {
  if (process.env['UV_THREADPOOL_SIZE'] === undefined && !READING.has(command) && hasRoomForThreads(textOf))
    process.env['UV_THREADPOOL_SIZE'] = String(THREADS)
}

const READING: ReadonlySet<string> = new Set(['--help', '--version', 'explain', 'list', 'log', 'show', 'why'])

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
