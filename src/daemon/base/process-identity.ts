import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { codeOf } from '../../base/error-code.ts'

/** What tells a process from a later one with the same pid. What the system could not tell is left out. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it began, in the words of the system: ticks since boot on Linux, a date elsewhere. */
  readonly startTime?: string
  /** Which run of the machine it belongs to. */
  readonly bootId?: string
  /** A digest of what the machine is called in `/etc/machine-id`. A service from which the run is hidden still knows it. */
  readonly machineId?: string
  /** The namespace of which the pid is a number, as Linux names it (`pid:[4026531836]`); elsewhere the system. */
  readonly pidNamespace?: string
}

export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const status = await statusOf(pid)
  return { pid, ...(status === undefined ? {} : { startTime: status.startTime }), ...(await placeOf()) }
}

/** Says whether the process is there and still the one that it was. What the system does not tell speaks for it. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!(await isHere(identity)) || !exists(identity.pid)) return false
  const status = await statusOf(identity.pid)
  return status?.ended !== true && same(status?.startTime, identity.startTime)
}

/**
 * Says whether the pid means something to this process: it is of the same run of the same machine, and of the same namespace. A
 * number of a namespace that is given again is one of processes that are gone.
 */
export async function isHere({ bootId, machineId, pidNamespace }: ProcessIdentity): Promise<boolean> {
  const here = await placeOf()
  return same(here.bootId, bootId) && same(here.machineId, machineId) && same(here.pidNamespace, pidNamespace)
}

type Place = Pick<ProcessIdentity, 'bootId' | 'machineId' | 'pidNamespace'>

/** The place of this process: what does not change as long as it lives. */
async function placeOf(): Promise<Place> {
  const bootId = await bootIdOf()
  const machineId = await machineIdOf()
  const pidNamespace = await pidNamespaceOf()
  return {
    ...(bootId === undefined ? {} : { bootId }),
    ...(machineId === undefined ? {} : { machineId }),
    ...(pidNamespace === undefined ? {} : { pidNamespace }),
  }
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

/** The name itself is for no other eyes, machine-id(5). */
async function machineIdOf(): Promise<string | undefined> {
  const name = (await textOf('/etc/machine-id'))?.trim() ?? ''
  return /^[0-9a-f]{32}$/.test(name)
    ? createHash('sha256').update(`skillsyncd ${name}`).digest('hex').slice(0, 32)
    : undefined
}

async function pidNamespaceOf(): Promise<string | undefined> {
  if (process.platform !== 'linux') return process.platform
  return readlink('/proc/self/ns/pid').catch(() => undefined)
}

/** A file of `/proc`, or undefined where this system or this sandbox has none. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}
