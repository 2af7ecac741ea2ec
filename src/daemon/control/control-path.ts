import { createHash, randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf } from '../../base/error-code.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { answers } from './control-client.ts'

/**
 * The path for a daemon of the state folder to listen on from now on. Without a runtime folder it is a new path each
 * time, recorded in the daemon's lock: another user could create a folder with a predictable name first. Throws if the
 * path is too long.
 */
export function socketPathOf(statePath: string, runtimeFolder: string | undefined): string {
  const known = knownSocketPathOf(statePath, runtimeFolder)
  // No other user can create enough folders to hit this name.
  return known ?? bindable(join(tmpdir(), `${freshPrefix(statePath)}${randomBytes(8).toString('hex')}`, 'socket'))
}

/**
 * The socket of a daemon that could not write its lock, as a client finds it without the lock: in the runtime folder,
 * else below the temporary folder. `undefined` if none there answers, or if another user owns the folder of the socket.
 */
export async function unlockedSocketOf(
  statePath: string,
  runtimeFolder: string | undefined,
): Promise<string | undefined> {
  return (
    (await firstToAnswer(async () => knownSockets(statePath, runtimeFolder))) ??
    (await firstToAnswer(async () => freshSockets(statePath)))
  )
}

/** The first socket that answers. Where a folder cannot be used there is none. */
async function firstToAnswer(find: () => Promise<readonly string[]>): Promise<string | undefined> {
  try {
    for (const path of await find()) if (await answers(path)) return path
    return undefined
  } catch (error) {
    if (error instanceof SyncError || isDiskError(error)) return undefined
    throw error
  }
}

async function knownSockets(statePath: string, runtimeFolder: string | undefined): Promise<readonly string[]> {
  const path = knownSocketPathOf(statePath, runtimeFolder)
  return path !== undefined && (await isInOwnFolder(path)) ? [path] : []
}

/** The sockets below the temporary folder, in folders of this user alone: for one state folder, or for any. */
export async function freshSockets(statePath?: string): Promise<readonly string[]> {
  const prefix = statePath === undefined ? '' : freshPrefix(statePath)
  const found: string[] = []
  for (const name of await readdir(tmpdir())) {
    const path = join(tmpdir(), name, 'socket')
    if (name.startsWith(prefix) && isFresh(path) && (await isInOwnFolder(path))) found.push(path)
  }
  return found
}

async function isInOwnFolder(socketPath: string): Promise<boolean> {
  const folder = await unlessAbsent(lstat(dirname(socketPath)))
  return folder !== undefined && whyNotOwn(folder) === undefined
}

function knownSocketPathOf(statePath: string, runtimeFolder: string | undefined): string | undefined {
  if (runtimeFolder === undefined) return undefined
  return bindable(join(runtimeFolder, 'skillsyncd', `${hashOfState(statePath).slice(0, 16)}.sock`))
}

function freshPrefix(statePath: string): string {
  return `skillsyncd-${hashOfState(statePath).slice(0, 8)}-`
}

function hashOfState(statePath: string): string {
  return createHash('sha256').update(realPathOf(statePath)).digest('hex')
}

/** True for a path below the temporary folder that was made for one socket. */
export function isFresh(socketPath: string): boolean {
  return (
    basename(socketPath) === 'socket' && /^skillsyncd-[0-9a-f]{8}-[0-9a-f]{16}$/.test(basename(dirname(socketPath)))
  )
}

function bindable(path: string): string {
  const bytes = Buffer.byteLength(path)
  if (bytes <= PATH_BYTES) return path
  throw unusable(`Cannot listen on "${path}": it has ${bytes} bytes, a socket's path at most ${PATH_BYTES}`)
}

/** The bytes of `sun_path` without the terminating byte. */
const PATH_BYTES = process.platform === 'darwin' ? 103 : 107

/** A state folder that does not exist yet has no daemon, so its path may differ from the later one. */
function realPathOf(statePath: string): string {
  try {
    return realpathSync(statePath)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return resolve(statePath)
    throw new SyncError('store-failed', `Cannot find the state folder "${statePath}"`, { cause: error })
  }
}

/**
 * Creates the socket's folder if it does not exist. A user that can put a socket into it could impersonate the daemon.
 */
export async function makeSocketFolder(folder: string): Promise<void> {
  await expectOwnRuntime(dirname(folder))
  await makeFolders(folder, 0o700)
  const why = whyNotOwn(await lstat(folder))
  if (why !== undefined) throw unusable(`Cannot listen in "${folder}": ${why}`)
}

/** Root could create its folder in a user's runtime folder, and would then lock that user out. */
async function expectOwnRuntime(runtime: string): Promise<void> {
  const owner = (await unlessAbsent(stat(runtime)))?.uid
  if (process.getuid?.() !== 0 || owner === undefined || owner === 0) return
  throw unusable(`Cannot listen below "${runtime}": it is of user ${owner}, and this is user 0`)
}

/** `undefined` if the folder belongs to this user alone. */
export function whyNotOwn(folder: Stats): string | undefined {
  if (folder.isDirectory() && isMine(folder) && (folder.mode & 0o077) === 0) return undefined
  return `it is not a folder of this user alone, it has owner ${folder.uid} and mode ${(folder.mode & 0o777).toString(8)}`
}

/** A system without user ids has one owner of everything. */
function isMine({ uid }: Stats): boolean {
  const me = process.getuid?.()
  return me === undefined || uid === me
}

/**
 * True if the socket is still in its folder. A folder of the same name that another user created after a sweep does not
 * count.
 */
export async function isSocketThere(socketPath: string): Promise<boolean> {
  const folder = await unlessAbsent(lstat(dirname(socketPath)))
  return folder !== undefined && isMine(folder) && (await unlessAbsent(lstat(socketPath))) !== undefined
}

/** Removes the folder that was made for this socket alone, if any. A folder that cannot be removed does no harm. */
export async function removeSocketFolder(socketPath: string): Promise<void> {
  if (!isFresh(socketPath)) return
  try {
    const folder = await unlessAbsent(lstat(dirname(socketPath)))
    if (folder === undefined || !folder.isDirectory() || !isMine(folder)) return
    await rm(socketPath, { force: true })
    await rmdir(dirname(socketPath))
  } catch (error) {
    if (!isDiskError(error)) throw error
  }
}

function unusable(message: string): SyncError {
  return new SyncError('socket-failed', message)
}
