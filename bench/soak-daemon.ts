import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { overseen } from './child.ts'

const run = promisify(execFile)

/** How many times as fast as the clock on the wall its monotonic clock runs: an hour is half a minute. */
export const HURRY = 120

/** What a daemon holds at rest. */
export interface Held {
  readonly heapKiB: number
  readonly residentKiB: number
  readonly descriptors: number
  readonly threads: number
  readonly children: number
  readonly scratch: number
  readonly generations: number
  readonly diskKiB: number
}

/** The real program in a process that is looked at. */
export interface SoakedDaemon extends AsyncDisposable {
  held(): Promise<Held>
}

export async function startSoaked(file: string, state: string): Promise<SoakedDaemon> {
  const program = fileURLToPath(new URL('./soak-process.ts', import.meta.url))
  // What fails is meant to, and there are thousands of it.
  const args = ['start', '--config', file, '--log-level', 'error']
  const child = fork(program, args, { execArgv: ['--expose-gc'], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const { stdout } = child
  if (stdout === null || child.pid === undefined) throw new Error('The daemon was not started')
  const processFolder = `/proc/${child.pid}`
  const listening = once(createInterface({ input: stdout }), 'line')
  await once(child, 'message')
  const daemon = overseen(child)
  await listening
  return {
    async held() {
      const heapKiB = await daemon.heapKiB()
      return { heapKiB, ...(await heldByProcess(processFolder)), ...(await heldOnDisk(state)) }
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}

async function heldByProcess(folder: string) {
  const threads = await readdir(join(folder, 'task'))
  const children = await Promise.all(threads.map((thread) => textOf(join(folder, 'task', thread, 'children'))))
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(join(folder, 'status'), 'utf8'))?.[1]
  return {
    residentKiB: Number(resident),
    descriptors: (await readdir(join(folder, 'fd'))).length,
    threads: threads.length,
    children: children.flatMap((line) => line.split(' ').filter((pid) => pid !== '')).length,
  }
}

/** A thread may be gone by now. */
async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}

async function heldOnDisk(state: string) {
  // With the folders themselves, which the daemon does not count.
  const { stdout } = await run('du', ['--summarize', '--bytes', state])
  return {
    scratch: (await readdir(join(state, 'tmp'))).length,
    generations: (await readdir(join(state, 'generations'))).filter((name) => name.endsWith('.json')).length,
    diskKiB: Number.parseInt(stdout, 10) / 1024,
  }
}
