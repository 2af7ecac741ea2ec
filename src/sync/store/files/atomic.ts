import { randomBytes } from 'node:crypto'
import { chmod, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cannot, isDiskError } from './disk-error.ts'

/**
 * Replaces the file atomically: a reader finds the old bytes or the new ones, whole, even after a crash. They are on
 * the disk when this returns. The file has `mode` from the start.
 */
export async function writeWhole(path: string, bytes: string | Uint8Array, mode = 0o600): Promise<void> {
  const temporary = temporaryIn(dirname(path))
  try {
    await writeSynced(temporary, bytes, mode)
    await rename(temporary, path)
  } catch (error) {
    // Frees the space of a full disk at once, not at the next start. The caller gets the write error, not an error of
    // this cleanup.
    await rm(temporary, { force: true }).catch(() => {})
    cannot(`write "${path}"`)(error)
  }
  await syncFolder(dirname(path))
}

/** Creates an empty file for its user alone. Throws if there is one. */
export async function makePrivate(path: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  await handle.close()
}

async function writeSynced(path: string, bytes: string | Uint8Array, mode: number): Promise<void> {
  const handle = await open(path, 'wx', mode)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Syncs the names in a folder to the disk. Without it, a crash can undo a rename that had succeeded. */
export async function syncFolder(path: string): Promise<void> {
  await syncPath(path).catch(cannot(`sync the folder "${path}"`))
}

/** Syncs one file, or the names in one folder, to the disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const TEMPORARY = /^\.tmp-[0-9a-f]{32}$/

/** Returns an unused, unguessable path in the folder. The next sweep removes it. */
export function temporaryIn(folder: string): string {
  return join(folder, `.tmp-${randomBytes(16).toString('hex')}`)
}

/** True for a name that `temporaryIn` generates. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name)
}

/**
 * Removes everything at the path, even below folders that an agent left read-only. Succeeds if nothing exists there.
 */
export async function removeAll(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (!isDiskError(error, 'EACCES', 'EPERM')) cannot(`remove "${path}"`)(error)
    await unlock(path).catch(cannot(`unlock "${path}"`))
    await rm(path, { recursive: true, force: true }).catch(cannot(`remove "${path}"`))
  }
}

async function unlock(folder: string): Promise<void> {
  await chmod(folder, 0o700)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await unlock(join(folder, entry.name))
  }
}
