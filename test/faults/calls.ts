import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Ended, Home } from '../support/process/program.ts'

/** A call to the system, at a path. */
export interface Call {
  readonly name: string
  /** Of two paths the one that is taken away, or written to. */
  readonly path: string
  /** The other one, of a call that has two. */
  readonly other: string | undefined
  /** The how manyth of this name at this path its thread makes. */
  readonly nth: number
  /** False for one that opens to read, and for one that failed. */
  readonly changes: boolean
}

/** All that change files or their names, and all that open them. */
const NAMES = [
  'open openat creat write writev pwrite64 pwritev truncate ftruncate fallocate copy_file_range sendfile',
  'rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir mkdir mkdirat mknod mknodat',
  'chmod fchmod fchmodat chown fchown fchownat utimensat fsync fdatasync syncfs sync_file_range',
].flatMap((line) => line.split(' '))

const STEADY_NAMES = fileURLToPath(new URL('../support/process/steady-names.mjs', import.meta.url))

/** Has runs of the program make the same calls in the same order, as far as that can be had. */
export function steady(home: Home): void {
  home.env['NODE_OPTIONS'] = `--import=${STEADY_NAMES}`
  // What goes to the pool of threads goes through one.
  home.env['UV_THREADPOOL_SIZE'] = '1'
  // What is compiled is written once, by whichever run is the first.
  home.env['NODE_DISABLE_COMPILE_CACHE'] = '1'
}

/** Runs the program to its end and gives every call it made at a path, in order. `log` is written anew. */
export async function callsOf(home: Home, log: string, args: readonly string[]): Promise<[Ended, readonly Call[]]> {
  const ended = await runUnder(home, ['-y', '-s', '0', '-e', `trace=${NAMES.join(',')}`, '-o', log], args)
  return [ended, callsIn(await readFile(log, 'utf8'))]
}

/** Runs the program until it is killed before the call is made: the kernel makes none of a process that is to die. */
export async function runUntil(home: Home, log: string, call: Call, args: readonly string[]): Promise<Ended> {
  const { name, path, nth } = call
  const inject = `inject=${name}:signal=KILL:when=${nth}`
  return runUnder(home, ['-P', path, '-e', `trace=${name}`, '-e', inject, '-o', log], args)
}

async function runUnder(home: Home, options: readonly string[], args: readonly string[]): Promise<Ended> {
  home.under = ['strace', '-f', '-qq', ...options]
  const ended = await home.run(...args)
  home.under = []
  return ended
}

/** The calls in what strace wrote with `-f -y -s 0`: one a line, with its thread, begun or whole. */
export function callsIn(text: string): readonly Call[] {
  const counts = new Map<string, number>()
  return text.split('\n').flatMap((line) => {
    const [, thread = '', name = '', rest = ''] = /^(\d+) +(\w+)\((.*)/.exec(line) ?? []
    const paths = pathsIn(name, rest)
    for (const path of new Set(paths)) {
      const key = `${thread} ${name} ${path}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    const [path, other] = paths
    if (path === undefined) return []
    const nth = counts.get(`${thread} ${name} ${path}`) ?? 0
    const writes = !OPENS.has(name) || /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/.test(rest)
    return [{ name, path, other, nth, changes: writes && !/\) += -1 E/.test(rest) }]
  })
}

const OPENS: ReadonlySet<string> = new Set(['open', 'openat'])

/** Absolute ones, quoted or of a descriptor. */
function pathsIn(name: string, rest: string): readonly string[] {
  const args = rest.replace(/AT_FDCWD<[^>]*>/g, '').replace(/\) += .*$/, '')
  const paths = [...args.matchAll(/["<](\/[^">]*)[">]/g)].flatMap(([, path]) => path ?? [])
  return name === 'copy_file_range' ? paths.toReversed() : paths
}
