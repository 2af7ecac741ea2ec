import { randomBytes } from 'node:crypto'
import { link, lstat, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { isAbortError } from '../../base/async/abort-error.ts'
import { systemClock } from '../../base/async/clock.ts'
import { codeOf } from '../../base/error-code.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { whyNotUsed } from '../runtime/disk-error-text.ts'
import { processIdentityOf, isAlive, isHere, type ProcessIdentity } from '../runtime/process-identity.ts'
import { answers } from './control-client.ts'
import { removeSocketFolder } from './control-path.ts'
import { newLease, replaceLease, staysAsIs, TERM_MS } from './lease-renewal.ts'
import type { Watching } from './lease-renewal.ts'

/** The process that writes a state folder, as its lock records it. */
export interface LockHolder extends ProcessIdentity {
  /** The socket on which it listens. The process that answers there holds the lock. */
  readonly socket: string
  /** The command with which it was started, for display. */
  readonly command: string
  /** Unique for each lock. */
  readonly nonce: string
  /** Changes with each renewal while the holder lives. Absent if another version wrote the lock. */
  readonly lease?: string
}

/** A holder as read from its lock. */
export interface FoundHolder extends LockHolder {
  /** The user that wrote the lock. */
  readonly owner: number
  /** True if it belongs to another container or machine: its pid means nothing here. */
  readonly isElsewhere?: true
}

/** The right to write one state folder, until released. */
export class DaemonLock implements AsyncDisposable {
  readonly #path: string
  #holder: LockHolder

  constructor(path: string, holder: LockHolder) {
    this.#path = path
    this.#holder = holder
  }

  get holder(): LockHolder {
    return this.#holder
  }

  /** Records the new socket of the holder in the lock, if the lock is still ours. */
  async moveTo(socket: string): Promise<void> {
    const moved = { ...this.#holder, socket, lease: newLease() }
    try {
      if ((await read(this.#path))?.nonce !== moved.nonce) return
      await replace(this.#path, moved)
    } catch (error) {
      throw lockError('write', this.#path, error)
    }
    this.#holder = moved
  }

  /** Writes a new lease into the lock, if the disk allows it. Puts the lock back if it was removed. */
  async renew(): Promise<Renewed> {
    const lease = newLease()
    try {
      if (await replaceLease(this.#path, this.#holder.nonce, lease).catch(unlessRefused)) {
        this.#holder = { ...this.#holder, lease }
        return { isRenewed: true }
      }
      const found = await read(this.#path)
      if (found === undefined) await this.#putBack()
      const isAnother = found !== undefined && found !== NOBODY && found.nonce !== this.#holder.nonce
      return { isRenewed: false, ...(isAnother && { heldBy: found }) }
    } catch (error) {
      throw lockError('renew', this.#path, error)
    }
  }

  /**
   * Does nothing if the state folder's disk is no longer mounted. If another process took the lock first, the next
   * renewal finds that.
   */
  async #putBack(): Promise<void> {
    if ((await unlessAbsent(stat(join(dirname(this.#path), 'format')))) === undefined) return
    await create(this.#path, this.#holder)
  }

  /** Removes the lock if it is still ours. */
  async release(): Promise<void> {
    try {
      if ((await read(this.#path))?.nonce === this.holder.nonce) await rm(this.#path, { force: true })
    } catch (error) {
      throw lockError('leave', this.#path, error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}

/** The result of a renewal. `heldBy`: the process that holds the lock now. */
export interface Renewed {
  readonly isRenewed: boolean
  readonly heldBy?: FoundHolder
}

/**
 * Acquires the lock of a state folder, or returns its holder. Takes over the lock of a process that has ended. A live
 * process keeps its lock, even if it is stopped or busy and does not answer. A holder in another container or machine
 * counts as gone if its lease does not change for a term; this call waits for that.
 */
export async function acquireLock(
  statePath: string,
  { listens = false, clock = systemClock, signal = NEVER, onWatch = () => {}, ...me }: Contender,
): Promise<DaemonLock | { readonly heldBy: FoundHolder }> {
  const path = join(statePath, FILE)
  const holder = {
    ...me,
    ...(await processIdentityOf(me.pid)),
    nonce: randomBytes(8).toString('hex'),
    lease: newLease(),
  }
  const watching = { clock, signal, onWatch }
  try {
    // Read first: on a disk that accepts no file, a failed `create` would not show that another process holds the lock.
    for (let other = await read(path); ; other = await read(path)) {
      if (other === undefined) {
        if (await create(path, holder)) break
        continue
      }
      const isOwnSocket = listens && other.socket === me.socket
      const answered = other !== NOBODY && !isOwnSocket && (await isListening(other))
      if (answered || !(await isGone(path, other, watching))) return { heldBy: other }
      await removeStale(path, other, holder, watching)
      if (!isOwnSocket) await removeSocketFolder(other.socket)
    }
    await sweep(statePath)
  } catch (error) {
    throw lockError('take', path, error)
  }
  return new DaemonLock(path, holder)
}

/** The holder of a state folder's lock, dead or alive; `undefined` if there is no lock. */
export async function lockHolderOf(statePath: string): Promise<FoundHolder | undefined> {
  const path = join(statePath, FILE)
  const holder = await read(path).catch((error: unknown) => {
    throw lockError('read', path, error)
  })
  return holder === NOBODY ? undefined : holder
}

/**
 * The socket for requests to a holder. `undefined` if its folder is gone. `undefined` also if that folder belongs to
 * neither the user of the lock nor the user of the holder's process: a listener there is not the holder.
 */
export async function socketOf(holder: FoundHolder): Promise<string | undefined> {
  const { socket, owner } = holder
  try {
    const folder = await unlessAbsent(lstat(dirname(socket)))
    if (folder === undefined) return undefined
    return folder.uid === owner || (await isOfUser(holder, folder.uid)) ? socket : undefined
  } catch (error) {
    // The connection then fails too, with the reason.
    if (isDiskError(error)) return socket
    throw error
  }
}

/**
 * systemd can map the users of a service's state folder: root then sees the lock with another owner than the process.
 */
async function isOfUser(holder: LockHolder, uid: number): Promise<boolean> {
  const found = await unlessAbsent(stat(`/proc/${holder.pid}`))
  return found?.uid === uid && (await isAlive(holder))
}

/** True if a holder accepts connections, even if it is stopped or busy. */
export async function isListening(holder: FoundHolder): Promise<boolean> {
  const socket = await socketOf(holder)
  return socket !== undefined && (await answers(socket))
}

/**
 * True if a holder in another container or machine renews its lease within so many milliseconds. Resolves at the first
 * renewal.
 */
export async function isAtWork(
  statePath: string,
  holder: FoundHolder,
  watching: Watching & { readonly ms: number },
): Promise<boolean> {
  return isRenewed(join(statePath, FILE), holder, watching)
}

async function isRenewed(
  path: string,
  { nonce }: FoundHolder,
  { ms = TERM_MS, ...watching }: Watching & { readonly ms?: number },
): Promise<boolean> {
  const read = async (): Promise<string | undefined> => leaseIn(path, nonce)
  // A released lock shows no activity.
  return !(await staysAsIs(read, watching, ms)) && (await read()) !== undefined
}

/** A process that tries to acquire the lock. */
interface Contender extends Pick<LockHolder, 'pid' | 'socket' | 'command'>, Partial<Watcher> {
  /** True if it already listens on its socket, so that an answer there does not prove another holder. */
  readonly listens?: boolean
}

interface Watcher extends Watching {
  /** Called before the lease of a holder is watched for a term. */
  readonly onWatch: (holder: FoundHolder) => void
}

const NEVER = new AbortController().signal

const FILE = 'daemon.lock'

/**
 * The holder in a file without text: the power failed before its text was on disk. It is taken over like the lock of a
 * dead process.
 */
const NOBODY: FoundHolder = { pid: 0, socket: '', command: '', nonce: '0'.repeat(16), owner: -1 }

/** True if the file at the path may be removed: the process that it names has ended, or counts as ended. */
async function isGone(path: string, other: FoundHolder, { onWatch, ...watching }: Watcher): Promise<boolean> {
  if (other === NOBODY) return true
  if (other.isElsewhere !== true) return !(await isAlive(other))
  onWatch(other)
  return !(await isRenewed(path, other, watching))
}

/** The lease in the lock with the nonce; `undefined` if the lock has another nonce or is absent. */
async function leaseIn(path: string, nonce: string): Promise<string | undefined> {
  const found = await read(path)
  return found?.nonce === nonce ? (found.lease ?? '') : undefined
}

/** Creates the file, complete from the first moment, unless it exists. */
async function create(path: string, holder: LockHolder): Promise<boolean> {
  return writeFor(path, holder, async (temporary) => giveName(temporary, path))
}

/** Replaces the existing file. */
async function replace(path: string, holder: LockHolder): Promise<void> {
  await writeFor(path, holder, async (temporary) => rename(temporary, path))
}

async function writeFor<Result>(
  path: string,
  holder: LockHolder,
  place: (temporary: string) => Promise<Result>,
): Promise<Result> {
  const temporary = `${path}.new-${randomBytes(8).toString('hex')}`
  try {
    await writeSynced(temporary, `${JSON.stringify(holder)}\n`)
    return await place(temporary)
  } finally {
    await rm(temporary, { force: true })
  }
}

/**
 * False if a file of the name exists. Also false if the holder of the lock swept the temporary file: while it was
 * empty, it looked like one of a dead process.
 */
async function giveName(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return false
    throw error
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.sync()
}

/**
 * Removes the file of a dead holder, and never its successor. Only the process with the claim on that very file may
 * remove it. The claim is itself a file, named after the file it is for, and the claim of a dead process is removed the
 * same way.
 */
async function removeStale(path: string, stale: LockHolder, me: LockHolder, watcher: Watcher): Promise<void> {
  const claim = `${path}.${stale.nonce}`
  if (await create(claim, me)) {
    try {
      const now = await read(path)
      // A stopped process may have continued since.
      if (now?.nonce === stale.nonce && now.lease === stale.lease) await rm(path, { force: true })
    } finally {
      await rm(claim, { force: true })
    }
    return
  }
  const other = await read(claim)
  if (other !== undefined && (await isGone(claim, other, watcher))) await removeStale(claim, other, me, watcher)
}

/** Removes the files of contenders that were killed while they contended. */
async function sweep(statePath: string): Promise<void> {
  for (const name of await readdir(statePath)) {
    if (!name.startsWith(`${FILE}.`)) continue
    const path = join(statePath, name)
    const contender = parse(await readFile(path, 'utf8').catch(() => ''))
    // A contender that was killed before it wrote left a file without a holder. A live one creates another file.
    const isOfTheDead = contender === undefined ? TEMPORARY.test(name) : !(await isAlive(contender))
    // A file that cannot be removed does no harm.
    if (isOfTheDead) await rm(path).catch(() => {})
  }
}

const TEMPORARY = /\.new-[0-9a-f]{16}$/

async function read(path: string): Promise<FoundHolder | undefined> {
  const found = await unlessGone(textIn(path))
  if (found === undefined) return undefined
  const { text, owner } = found
  if (/^[\0\s]*$/.test(text)) return NOBODY
  const holder = parse(text)
  if (holder !== undefined) return { ...holder, owner, ...((await isHere(holder)) ? {} : { isElsewhere: true }) }
  throw new SyncError(
    'store-failed',
    `Cannot read the lock "${path}": it is not a lock of skillsyncd; remove it if no daemon runs`,
  )
}

async function textIn(path: string): Promise<{ readonly text: string; readonly owner: number }> {
  await using file = await open(path)
  return { text: await file.readFile('utf8'), owner: (await file.stat()).uid }
}

async function unlessGone<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function parse(text: string): LockHolder | undefined {
  try {
    return HOLDER.safeParse(JSON.parse(text)).data
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** A `ProcessIdentity` as JSON. */
export const PROCESS_IDENTITY = z.object({
  pid: z.int().positive(),
  startTime: z.string().exactOptional(),
  bootId: z.string().exactOptional(),
  machineId: z.string().exactOptional(),
  pidNamespace: z.string().exactOptional(),
})

const HOLDER = z.object({
  ...PROCESS_IDENTITY.shape,
  socket: z.string(),
  command: z.string(),
  // It becomes part of a file name.
  nonce: z.string().regex(/^[0-9a-f]{16}$/),
  lease: z.string().exactOptional(),
})

/** If the disk refuses the lease, the file still names the holder. */
function unlessRefused(error: unknown): false {
  if (!isDiskError(error)) throw error
  return false
}

function lockError(attempt: string, path: string, cause: unknown): unknown {
  if (isAbortError(cause)) return cause
  if (!(cause instanceof Error) || cause instanceof SyncError) return cause
  const why = isDiskError(cause) ? whyNotUsed(cause) : cause.message
  return new SyncError('store-failed', `Cannot ${attempt} the lock "${path}": ${why}`, { cause })
}
