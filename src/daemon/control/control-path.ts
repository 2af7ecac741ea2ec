import { createHash, randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, rm, rmdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { codeOf } from '../../base/error-code.ts'

/**
 * The path that a daemon of the state folder listens on from now on. Without a runtime folder it is another each time, and the
 * daemon's lock names it: a folder of a known name could be made by another user first. Throws where the path is too long.
 */
export function socketPathOf(statePath: string, runtimeFolder: string | undefined): string {
  return knownSocketPathOf(statePath, runtimeFolder) ?? bindable(join(tmpdir(), `${FRESH}${randomName()}`, 'socket'))
}

/**
 * The socket of a daemon that could write no lock, as a client without the lock finds it. Undefined without a runtime folder,
 * and where the folder in it is of another user.
 */
export async function unlockedSocketOf(
  statePath: string,
  runtimeFolder: string | undefined,
): Promise<string | undefined> {
  try {
    const path = knownSocketPathOf(statePath, runtimeFolder)
    return path !== undefined && (await isSocketThere(path)) ? path : undefined
  } catch (error) {
    if (error instanceof SyncError || isDiskError(error)) return undefined
    throw error
  }
}

function knownSocketPathOf(statePath: string, runtimeFolder: string | undefined): string | undefined {
  if (runtimeFolder === undefined) return undefined
  const name = createHash('sha256').update(realPathOf(statePath)).digest('hex').slice(0, 16)
  return bindable(join(runtimeFolder, 'skillsyncd', `${name}.sock`))
}

const FRESH = 'skillsyncd-'

/** No other user makes so many folders that one of them has this name. */
function randomName(): string {
  return randomBytes(8).toString('hex')
}

/** Below the temporary folder, and made for one socket. */
export function isFresh(socketPath: string): boolean {
  return basename(socketPath) === 'socket' && /^skillsyncd-[0-9a-f]{16}$/.test(basename(dirname(socketPath)))
}

function bindable(path: string): string {
  const bytes = Buffer.byteLength(path)
  if (bytes <= PATH_BYTES) return path
  throw unusable(`Cannot listen on "${path}": it has ${bytes} bytes, a socket's path at most ${PATH_BYTES}`)
}

/** The room in `sun_path` beside the byte that ends it. */
const PATH_BYTES = process.platform === 'darwin' ? 103 : 107

/** A state folder that is not there yet has no daemon, so its path may differ from that of later on. */
function realPathOf(statePath: string): string {
  try {
    return realpathSync(statePath)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return resolve(statePath)
    throw new SyncError('store-failed', `Cannot find the state folder "${statePath}"`, { cause: error })
  }
}

/** Makes the folder of the socket where there is none. A user that could put a socket into it could pass for the daemon. */
export async function makeSocketFolder(folder: string): Promise<void> {
  await expectOwnRuntime(dirname(folder))
  await makeFolders(folder, 0o700)
  const why = whyNotOwn(await lstat(folder))
  if (why !== undefined) throw unusable(`Cannot listen in "${folder}": ${why}`)
}

/** Root can make its folder in the runtime folder of a user, and would then keep that user out. */
async function expectOwnRuntime(runtime: string): Promise<void> {
  const owner = (await unlessAbsent(stat(runtime)))?.uid
  if (process.getuid?.() !== 0 || owner === undefined || owner === 0) return
  throw unusable(`Cannot listen below "${runtime}": it is of user ${owner}, and this is user 0`)
}

/** Undefined where the folder is this user's alone. */
export function whyNotOwn(folder: Stats): string | undefined {
  if (folder.isDirectory() && isMine(folder) && (folder.mode & 0o077) === 0) return undefined
  return `it is no folder of yours alone, it has owner ${folder.uid} and mode ${(folder.mode & 0o777).toString(8)}`
}

/** A system without users has one owner of all. */
function isMine({ uid }: Stats): boolean {
  const me = process.getuid?.()
  return me === undefined || uid === me
}

/** Says whether the socket is in its folder still. A swept folder of the same name that another user made does not count. */
export async function isSocketThere(socketPath: string): Promise<boolean> {
  const folder = await unlessAbsent(lstat(dirname(socketPath)))
  return folder !== undefined && isMine(folder) && (await unlessAbsent(lstat(socketPath))) !== undefined
}

/** Removes the folder that was made for this socket alone, if it was. One that cannot be removed harms nothing. */
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
