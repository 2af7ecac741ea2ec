import type { StatsFs } from 'node:fs'
import { chmod, link, mkdir, open, readdir, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { DecisionStore } from '../../../sync/store/decision-store.ts'
import { syncPath, temporaryIn } from '../../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { expectOwnEntries, expectOwnFolder } from '../../../sync/store/files/folder-owner.ts'
import { openExistingState } from '../../../sync/store/files/state-folder.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { whyNotUsed } from '../../runtime/disk-error-text.ts'
import { decisionFindings } from '../verify/store-checks.ts'

/** Checks the state folder and its disk. */
export function stateChecks(ground: Ground): Check[] {
  const { state } = ground.config
  return [
    { name: 'state-folder', subject: state, look: async () => checkFolder(state) },
    { name: 'decisions', subject: state, look: async () => decisionsChecked(state) },
    { name: 'disk', subject: state, look: async (signal) => diskChecked(ground, signal) },
  ]
}

async function checkFolder(state: string): Promise<CheckResult[]> {
  const { ok, fail } = verdicts('state-folder', state)
  // Throws for a folder of another user, and for the layout of another version.
  if ((await openExistingState(state)) === undefined) {
    const above = await nearest(state)
    const why = await whyNoFolder(above)
    if (why === undefined) return [ok('it is made by the first start')]
    return [fail(`it is not there and cannot be made in "${above}": ${why}`, OWNER_MEND)]
  }
  const { uid } = await stat(state)
  const me = process.getuid?.()
  // Root can read it, but files that root creates there belong to root, and the daemon could not write them.
  if (me === 0 && uid !== me)
    return [
      fail(`it is of user ${uid}, and this is user ${me}`, 'Run this, and every command, as the user of the daemon'),
    ]
  return probe(state)
}

/**
 * Tries the steps by which the lock and the decisions are written: write, sync, link, rename, sync the folder. Removes
 * its files again.
 */
async function probe(state: string): Promise<CheckResult[]> {
  const { ok, fail } = verdicts('state-folder', state)
  const [first, second] = [temporaryIn(state), temporaryIn(state)]
  let step = 'make a file'
  try {
    await using file = await open(first, 'wx', 0o600)
    await file.writeFile(PROBE)
    step = 'sync a file'
    await file.sync()
    step = 'make a hard link'
    await link(first, second)
    step = 'rename over a file'
    await rename(first, second)
    step = 'sync the folder'
    await syncPath(state)
    return [ok('it can be written; rename, link and sync work')]
  } catch (error) {
    if (!isDiskError(error)) throw error
    return [fail(`cannot ${step}: ${whyNotUsed(error)}`, STEP_MENDS[error.code] ?? OTHER_DISK)]
  } finally {
    for (const path of [first, second]) await rm(path, { force: true }).catch(() => {})
  }
}

const PROBE = 'skillsyncd doctor\n'
const OWNER_MEND = 'Give the folder to the user of the daemon, or name another with `state` or --state'
const OTHER_DISK = 'Name a folder on a local disk with `state` or --state'
const STEP_MENDS: Readonly<Record<string, string>> = {
  ENOSPC: 'Make room on the disk, or name a folder on another with `state`',
  EDQUOT: 'Raise the quota of this user, or name a folder on another disk with `state`',
  EACCES: OWNER_MEND,
  EPERM: OWNER_MEND,
  EROFS: 'Let the service write to it (ReadWritePaths, StateDirectory), or name another folder with `state`',
}

async function decisionsChecked(state: string): Promise<readonly CheckResult[]> {
  const folder = await openExistingState(state)
  if (folder === undefined) return []
  const found = await decisionFindings(new DecisionStore(folder))
  return found.length > 0 ? found : [verdicts('decisions', state).ok('the decisions can be read')]
}

async function diskChecked({ config: { state, limits } }: Ground, signal: AbortSignal): Promise<CheckResult[]> {
  const disk = await statfs(await nearest(state))
  const free = disk.bavail * disk.bsize
  // On most disks the present usage need not be measured.
  const lacking = free >= limits.disk.bytes ? limits.disk.bytes : await lackingIn(state, limits.disk.bytes, signal)
  return [...roomOf(state, free, lacking), ...inodesOf(state, disk), ...kindOf(state, disk)]
}

/** Some file systems have no such number, and report 0. */
function inodesOf(state: string, { files, ffree }: StatsFs): CheckResult[] {
  if (files === 0 || ffree >= FEW_INODES) return []
  const fix = 'Remove unneeded files from this disk'
  return [verdicts('disk', state).warn(`it has room for ${ffree} more files`, fix)]
}

function kindOf(state: string, { type }: StatsFs): CheckResult[] {
  const kind = process.platform === 'linux' ? KINDS.get(type >>> 0) : undefined
  return kind === undefined ? [] : [verdicts('disk', state).warn(`it is ${kind.name}: ${kind.why}`, OTHER_DISK)]
}

function roomOf(state: string, free: number, lacking: number): CheckResult[] {
  const { ok, warn, fail } = verdicts('disk', state)
  const text = `${bytesText(free)} free`
  if (free < LEAST_FREE)
    return [fail(text, 'Make room: what is served stays in service, but nothing new can be stored')]
  if (free >= lacking) return [ok(`${text}; at most ${bytesText(lacking)} more are used (limits.disk)`)]
  const fix = 'Make room, or lower `limits.disk.bytes`'
  return [warn(`${text}, and up to ${bytesText(lacking)} more may be used (limits.disk)`, fix)]
}

/** The remainder of the limit; an upper bound for a folder with very many files. */
async function lackingIn(state: string, limit: number, signal: AbortSignal): Promise<number> {
  let left = limit
  const names = (await unlessAbsent(readdir(state, { withFileTypes: true, recursive: true }))) ?? []
  for (const entry of names.slice(0, MOST_COUNTED)) {
    signal.throwIfAborted()
    if (entry.isFile()) left -= (await unlessAbsent(stat(join(entry.parentPath, entry.name))))?.size ?? 0
  }
  return Math.max(0, left)
}

const MOST_COUNTED = 20_000
const LEAST_FREE = 64 * 2 ** 20
const FEW_INODES = 10_000

interface DiskKind {
  readonly name: string
  readonly why: string
}

/** Another machine sees a writer's lease only if the disk shows changed files there in time. */
const NETWORK: DiskKind = { name: 'a network disk', why: 'store.db must be on a local disk' }
const MEMORY: DiskKind = { name: 'kept in memory', why: 'it ended with the machine or the container' }

/** By the `f_type` of statfs(2): NFS, SMB in its three forms, 9P and AFS; tmpfs and ramfs. */
const KINDS: ReadonlyMap<number, DiskKind> = new Map([
  [0x6969, NETWORK],
  [0x517b, NETWORK],
  [0xff534d42, NETWORK],
  [0xfe534d42, NETWORK],
  [0x01021997, NETWORK],
  [0x5346414f, NETWORK],
  [0x01021994, MEMORY],
  [0x858458f6, MEMORY],
])

async function nearest(path: string): Promise<string> {
  const found = await unlessAbsent(stat(path))
  return found === undefined && dirname(path) !== path ? nearest(dirname(path)) : path
}

/**
 * Creates a folder in it as the first start does, asks of it what the start asks, and removes it again: the system can
 * refuse for reasons that permission bits do not show, and some disks keep none.
 */
export async function whyNoFolder(folder: string, make = makeClosed): Promise<string | undefined> {
  const probe = temporaryIn(folder)
  try {
    if (!(await stat(folder)).isDirectory()) return 'it is not a folder'
    try {
      await make(probe)
      await writeFile(join(probe, 'format'), '', { mode: 0o600 })
      await expectOwnFolder(probe, { asReader: false })
      await expectOwnEntries(probe, { asReader: false })
    } finally {
      await rm(probe, { recursive: true, force: true })
    }
    return undefined
  } catch (error) {
    if (error instanceof SyncError && error.code === 'folder-unsafe')
      return 'a folder that is made there has another owner, or others can write to it; the disk keeps no permissions'
    if (!isDiskError(error)) throw error
    return error.code === 'ENOENT' ? 'the system makes no folders there' : whyNotUsed(error)
  }
}

async function makeClosed(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 })
  await chmod(path, 0o700)
}

/** A human-readable size: `512 B`, `1.5 GiB`. */
function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const count = bytes / 1024 ** power
  return `${power === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${UNITS[power]}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
