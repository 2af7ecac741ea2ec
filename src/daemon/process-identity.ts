import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { codeOf } from './error-code.ts'

/** What tells a process from a later one with the same pid. What the system could not tell is left out. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it began, in the words of the system: ticks since boot on Linux, a date elsewhere. */
  readonly startTime?: string
  /** Which run of the machine it belongs to. */
  readonly bootId?: string
}

export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const status = await statusOf(pid)
  const bootId = await bootIdOf()
  return {
    pid,
    ...(status === undefined ? {} : { startTime: status.startTime }),
    ...(bootId === undefined ? {} : { bootId }),
  }
}

/** Whether the process is there and still the one that it was. What the system does not tell speaks for it. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!exists(identity.pid)) return false
  const status = await statusOf(identity.pid)
  if (status?.ended === true) return false
  return same(status?.startTime, identity.startTime) && same(await bootIdOf(), identity.bootId)
}

function same(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Any other refusal, EPERM above all, is about a process that is there.
    return codeOf(error) !== 'ESRCH'
  }
}

interface ProcessStatus {
  readonly startTime: string
  /** Dead, and not yet noticed by its parent. */
  readonly ended: boolean
}

async function statusOf(pid: number): Promise<ProcessStatus | undefined> {
  return process.platform === 'linux' ? linuxStatusOf(pid) : psStatusOf(pid)
}

/** Fields 3 and 22 of `/proc/<pid>/stat`. The second is the program's name, which may hold spaces and parentheses. */
async function linuxStatusOf(pid: number): Promise<ProcessStatus | undefined> {
  const stat = await textOf(`/proc/${pid}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = fields?.[0]
  const startTime = fields?.[19]
  return startTime === undefined ? undefined : { startTime, ended: state === 'Z' || state === 'X' }
}

const run = promisify(execFile)

async function psStatusOf(pid: number): Promise<ProcessStatus | undefined> {
  // The words must be the same for each process that asks, wherever its user lives.
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' }
  const line = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env }).then(
    ({ stdout }) => stdout.trim(),
    // It fails for a pid that nobody has, and where there is no such program.
    () => '',
  )
  const [state = '', ...startTime] = line.split(/\s+/)
  return startTime.length === 0 ? undefined : { startTime: startTime.join(' '), ended: state.startsWith('Z') }
}

async function bootIdOf(): Promise<string | undefined> {
  return (await textOf('/proc/sys/kernel/random/boot_id'))?.trim()
}

/** A file of `/proc`, or undefined where this system or this sandbox has none. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}
