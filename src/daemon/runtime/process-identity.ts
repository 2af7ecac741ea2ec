import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { codeOf } from '../../base/error-code.ts'

/** Distinguishes a process from a later one with the same pid. Fields that the system does not provide are absent. */
export interface ProcessIdentity {
  readonly pid: number
  /** The start time as the system prints it: ticks since boot on Linux, a date elsewhere. */
  readonly startTime?: string
  /** The boot of the machine that the process belongs to. */
  readonly bootId?: string
  /** A digest of the machine's name in `/etc/machine-id`. A service that cannot see the boot id can still read it. */
  readonly machineId?: string
  /** The namespace that the pid belongs to, as Linux names it (`pid:[4026531836]`); elsewhere the operating system. */
  readonly pidNamespace?: string
}

export async function processIdentityOf(pid: number): Promise<ProcessIdentity> {
  const status = await statusOf(pid)
  return { pid, ...(status === undefined ? {} : { startTime: status.startTime }), ...(await placeOf()) }
}

/** True if the process still exists and is the same one. A field that the system does not provide counts as equal. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!(await isHere(identity)) || !exists(identity.pid)) return false
  const status = await statusOf(identity.pid)
  return status?.ended !== true && same(status?.startTime, identity.startTime)
}

/**
 * True if the pid is valid for this process: same boot, same machine and same namespace. If a namespace's number is
 * reused, the recorded processes of that number are gone.
 */
export async function isHere({ bootId, machineId, pidNamespace }: ProcessIdentity): Promise<boolean> {
  const here = await placeOf()
  return same(here.bootId, bootId) && same(here.machineId, machineId) && same(here.pidNamespace, pidNamespace)
}

type Place = Pick<ProcessIdentity, 'bootId' | 'machineId' | 'pidNamespace'>

/** The part of the identity that does not change while this process lives. */
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
    // Any other error, EPERM above all, concerns a process that exists.
    return codeOf(error) !== 'ESRCH'
  }
}

interface ProcessStatus {
  readonly startTime: string
  /** Dead, but not yet reaped by its parent. */
  readonly ended: boolean
}

async function statusOf(pid: number): Promise<ProcessStatus | undefined> {
  return process.platform === 'linux' ? linuxStatusOf(pid) : psStatusOf(pid)
}

/**
 * Reads fields 3 and 22 of `/proc/<pid>/stat`. Field 2 is the program's name, which may contain spaces and parentheses.
 */
async function linuxStatusOf(pid: number): Promise<ProcessStatus | undefined> {
  const stat = await textOf(`/proc/${pid}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = fields?.[0]
  const startTime = fields?.[19]
  return startTime === undefined ? undefined : { startTime, ended: state === 'Z' || state === 'X' }
}

const run = promisify(execFile)

async function psStatusOf(pid: number): Promise<ProcessStatus | undefined> {
  // The text must be the same for every process that reads it, whatever the user's locale and time zone.
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' }
  const line = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env }).then(
    ({ stdout }) => stdout.trim(),
    // `ps` fails for an unused pid, and if it is not installed.
    () => '',
  )
  const [state = '', ...startTime] = line.split(/\s+/)
  return startTime.length === 0 ? undefined : { startTime: startTime.join(' '), ended: state.startsWith('Z') }
}

async function bootIdOf(): Promise<string | undefined> {
  return (await textOf('/proc/sys/kernel/random/boot_id'))?.trim()
}

/** The id itself must stay private, machine-id(5). */
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

/** The text of a file; `undefined` if this system or sandbox does not have it. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}
