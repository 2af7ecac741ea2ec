import { randomBytes } from 'node:crypto'
import { link, lstat, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { isAbortError } from '../../base/abort-error.ts'
import { systemClock } from '../../base/clock.ts'
import { answers } from './control-client.ts'
import { removeSocketFolder } from './control-path.ts'
import { codeOf } from '../../base/error-code.ts'
import { newLease, replaceLease, staysAsIs, TERM_MS } from './lease.ts'
import type { Watching } from './lease.ts'
import { identityOf, isAlive, isHere, type ProcessIdentity } from '../base/process-identity.ts'

/** Who writes a state folder, as its lock says. */
export interface Holder extends ProcessIdentity {
  /** Where it listens. Whoever answers there holds the lock. */
  readonly socket: string
  /** What it was started as, for people. */
  readonly command: string
  /** Different for each lock there ever was. */
  readonly nonce: string
  /** Another text with each renewal, as long as the holder lives. None of an older version. */
  readonly lease?: string
}

/** A holder as its lock was found. */
export interface FoundHolder extends Holder {
  /** The user that wrote the lock. */
  readonly owner: number
  /** It is of another container or machine: its pid means nothing here. */
  readonly isElsewhere?: true
}

/** The right to write one state folder, until released. */
export class DaemonLock implements AsyncDisposable {
  readonly #path: string
  #holder: Holder

  constructor(path: string, holder: Holder) {
    this.#path = path
    this.#holder = holder
  }

  get holder(): Holder {
    return this.#holder
  }

  /** Says in the lock, if it is still ours, that its holder listens elsewhere. */
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

  /** Writes another lease into the lock, as far as the disk takes it; puts the lock back where somebody removed it. */
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

  /** Not below the place of a disk that is not mounted any more. Another process that was quicker is met by the next renewal. */
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

/** The end of a renewal. `heldBy`: the process that has the lock by now. */
export interface Renewed {
  readonly isRenewed: boolean
  readonly heldBy?: FoundHolder
}

/**
 * Takes the lock of a state folder, or says who has it. The lock of a process that is gone is taken over; one that does not
 * answer and lives, because it is stopped or busy, keeps it. One of another container or machine is gone once its lease has
 * stayed as it is for a term, which is waited for.
 */
export async function acquireLock(
  statePath: string,
  { listens = false, clock = systemClock, signal = NEVER, onWatch = () => {}, ...me }: Contender,
): Promise<DaemonLock | { readonly heldBy: FoundHolder }> {
  const path = join(statePath, FILE)
  const holder = { ...me, ...(await identityOf(me.pid)), nonce: randomBytes(8).toString('hex'), lease: newLease() }
  const watching = { clock, signal, onWatch }
  try {
    // Looked at first: a disk that takes no file says nothing of another process that has the lock.
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

/** Who has the lock of a state folder, dead or alive; undefined where there is none. */
export async function holderOf(statePath: string): Promise<FoundHolder | undefined> {
  const path = join(statePath, FILE)
  const holder = await read(path).catch((error: unknown) => {
    throw lockError('read', path, error)
  })
  return holder === NOBODY ? undefined : holder
}

/**
 * The socket to ask a holder on. Undefined where its folder is gone, or is neither of the user of the lock nor of that of the
 * holder's process: what listens there is not the holder.
 */
export async function socketOf(holder: FoundHolder): Promise<string | undefined> {
  const { socket, owner } = holder
  try {
    const folder = await unlessAbsent(lstat(dirname(socket)))
    if (folder === undefined) return undefined
    return folder.uid === owner || (await isOfUser(holder, folder.uid)) ? socket : undefined
  } catch (error) {
    // It cannot be connected to either, and that says why.
    if (isDiskError(error)) return socket
    throw error
  }
}

/** systemd can map the users of a service's state folder: root then finds the lock to be of another user than the process. */
async function isOfUser(holder: Holder, uid: number): Promise<boolean> {
  const found = await unlessAbsent(stat(`/proc/${holder.pid}`))
  return found?.uid === uid && (await isAlive(holder))
}

/** Says whether a holder takes connections, even if stopped or busy. */
export async function isListening(holder: FoundHolder): Promise<boolean> {
  const socket = await socketOf(holder)
  return socket !== undefined && (await answers(socket))
}

/**
 * Says whether a holder of another container or machine renews its lease, as far as that shows within so many milliseconds. The
 * answer comes with the first renewal.
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
  // One that was released is not at work.
  return !(await staysAsIs(read, watching, ms)) && (await read()) !== undefined
}

/** A process that takes the lock. */
interface Contender extends Pick<Holder, 'pid' | 'socket' | 'command'>, Partial<Watcher> {
  /** It listens on its socket already, so an answer there says nothing of another holder. */
  readonly listens?: boolean
}

interface Watcher extends Watching {
  /** Is called before the lease of a holder is watched for a term. */
  readonly onWatch: (holder: FoundHolder) => void
}

const NEVER = new AbortController().signal

const FILE = 'daemon.lock'

/** Whom a file without text names: the power went before its text was on the disk. It is taken over like that of the dead. */
const NOBODY: FoundHolder = { pid: 0, socket: '', command: '', nonce: '0'.repeat(16), owner: -1 }

/** Says whether the file at the path may be removed: the process that it names is no more, or as good as that. */
async function isGone(path: string, other: FoundHolder, { onWatch, ...watching }: Watcher): Promise<boolean> {
  if (other === NOBODY) return true
  if (other.isElsewhere !== true) return !(await isAlive(other))
  onWatch(other)
  return !(await isRenewed(path, other, watching))
}

/** The lease in a file of the nonce; undefined where there is none of it. */
async function leaseIn(path: string, nonce: string): Promise<string | undefined> {
  const found = await read(path)
  return found?.nonce === nonce ? (found.lease ?? '') : undefined
}

/** Creates the file, whole from its first moment on, unless there is one. */
async function create(path: string, holder: Holder): Promise<boolean> {
  return written(path, holder, async (temporary) => giveName(temporary, path))
}

/** Puts the file in the place of the one that there is. */
async function replace(path: string, holder: Holder): Promise<void> {
  await written(path, holder, async (temporary) => rename(temporary, path))
}

async function written<Result>(
  path: string,
  holder: Holder,
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
 * Says whether it was done: not where there is a file of the name, and not where who has the lock took the temporary one for one of
 * the dead, since it was empty still.
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
 * Removes the file of a holder that is gone, and never one that took its place. Only who has the claim on that very file
 * may remove it; the claim is a file too, its name that of the one it is on, and the claim of the dead goes the same way.
 */
async function removeStale(path: string, stale: Holder, me: Holder, watcher: Watcher): Promise<void> {
  const claim = `${path}.${stale.nonce}`
  if (await create(claim, me)) {
    try {
      const now = await read(path)
      // One that was stopped may have gone on since.
      if (now?.nonce === stale.nonce && now.lease === stale.lease) await rm(path, { force: true })
    } finally {
      await rm(claim, { force: true })
    }
    return
  }
  const other = await read(claim)
  if (other !== undefined && (await isGone(claim, other, watcher))) await removeStale(claim, other, me, watcher)
}

/** Removes what contenders left that were killed while they contended. */
async function sweep(statePath: string): Promise<void> {
  for (const name of await readdir(statePath)) {
    if (!name.startsWith(`${FILE}.`)) continue
    const path = join(statePath, name)
    const contender = parse(await readFile(path, 'utf8').catch(() => ''))
    // One that was killed before it wrote left a file that names nobody; one that is alive makes another.
    const isOfTheDead = contender === undefined ? TEMPORARY.test(name) : !(await isAlive(contender))
    // What cannot be removed harms nobody.
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
  throw new SyncError('store-failed', `Cannot read the lock "${path}": it is none of ours; remove it if no daemon runs`)
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

function parse(text: string): Holder | undefined {
  try {
    return HOLDER.safeParse(JSON.parse(text)).data
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const HOLDER = z.object({
  pid: z.int().positive(),
  startTime: z.string().exactOptional(),
  bootId: z.string().exactOptional(),
  machineId: z.string().exactOptional(),
  pidNamespace: z.string().exactOptional(),
  socket: z.string(),
  command: z.string(),
  // It becomes part of a file name.
  nonce: z.string().regex(/^[0-9a-f]{16}$/),
  lease: z.string().exactOptional(),
})

/** The file says no more then than who has it. */
function unlessRefused(error: unknown): false {
  if (!isDiskError(error)) throw error
  return false
}

function lockError(attempt: string, path: string, cause: unknown): unknown {
  if (isAbortError(cause)) return cause
  if (!(cause instanceof Error) || cause instanceof SyncError) return cause
  return new SyncError('store-failed', `Cannot ${attempt} the lock "${path}": ${cause.message}`, { cause })
}
