import { randomBytes } from 'node:crypto'
import { chmod, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cannot, isDiskError } from './disk-error.ts'

/**
 * Replaces the file in one step: whoever reads it, and whoever looks after a crash, finds the old bytes or the new ones,
 * whole. They are on the disk when this returns. `mode`: of the file, from its first moment on.
 */
export async function writeWhole(path: string, bytes: string | Uint8Array, mode = 0o600): Promise<void> {
  const temporary = temporaryIn(dirname(path))
  try {
    await writeSynced(temporary, bytes, mode)
    await rename(temporary, path)
  } catch (error) {
    // A full disk gets its litter back at once, not at the next start. Why the write failed outranks why this did.
    await rm(temporary, { force: true }).catch(() => {})
    cannot(`write "${path}"`)(error)
  }
  await syncFolder(dirname(path))
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

/** Brings the names in a folder to the disk: without it a crash can undo a rename that was seen to happen. */
export async function syncFolder(path: string): Promise<void> {
  await syncPath(path).catch(cannot(`sync the folder "${path}"`))
}

/** Brings one file, or the names in one folder, to the disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const TEMPORARY = /^\.tmp-[0-9a-f]{32}$/

/** A path in the folder that nobody has used and nobody can guess. It never outlives the next sweep. */
export function temporaryIn(folder: string): string {
  return join(folder, `.tmp-${randomBytes(16).toString('hex')}`)
}

/** Whether it is a name that `temporaryIn` gives. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name)
}

/** Removes whatever is at the path, also below folders that an agent left read-only. Nothing there is fine. */
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
