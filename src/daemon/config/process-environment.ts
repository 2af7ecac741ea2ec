import { readFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { environmentOf } from './environment.ts'
import type { Environment } from './environment.ts'

/** The environment of this process. Nothing else reads `process.env`. */
export function processEnvironment(): Environment {
  return environmentOf(process.env, ownHome())
}

/** `homedir` takes `HOME` as it is: of one that is empty or relative, all below would be in whatever folder we were started in. */
function ownHome(): string {
  const home = homedir()
  return isAbsolute(home) ? home : userInfo().homedir
}

/**
 * Has Node start more threads for the disk and for names, unless the operator sets how many: each name that a resolver does not
 * answer holds one, half of all at the most. No effect once Node has started them, as Node 22 has when this runs.
 */
export function prepareThreads(): void {
  if (process.env['UV_THREADPOOL_SIZE'] === undefined && hasRoomForThreads(textOf))
    process.env['UV_THREADPOOL_SIZE'] = String(THREADS)
}

/** Half of them can wait for names at once. */
export const THREADS = 128

/** True where no limit of this process on threads is near. Node aborts where the system refuses one of those it starts. */
export function hasRoomForThreads(read: (file: string) => string): boolean {
  const [, ofUser] = /^Max processes +(\S+)/m.exec(read('/proc/self/limits')) ?? []
  const folders = [...read('/proc/self/cgroup').matchAll(/^\d+:(pids|):(.*)$/gm)].flatMap(
    ([, controller = '', path = '']) => {
      const root = join('/sys/fs/cgroup', controller)
      return [root, join(root, path)]
    },
  )
  const limits = [ofUser, ...folders.map((folder) => read(join(folder, 'pids.max')).trim())]
  // Most say "max" or "unlimited", which is no number.
  return !limits.some((limit) => Number.parseInt(limit ?? '', 10) < ROOM)
}

/** Leaves the limit far away for all else that runs, a git for each fetch among it. */
const ROOM = 4 * THREADS

/** The text of a file of the kernel; nothing where there is none, as on other systems than Linux. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
