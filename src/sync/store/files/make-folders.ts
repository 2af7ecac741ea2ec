import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDiskError, unlessAbsent } from './disk-error.ts'

/**
 * Creates a folder and its missing parents with these permission bits, minus the umask; an existing one stays
 * unchanged. Rejects with the system's error.
 */
export async function makeFolders(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if ((await unlessAbsent(stat(path)))?.isDirectory() === true) return
    const above = dirname(path)
    // Node's own recursion never ends below an existing folder in which the system reports ENOENT: `/proc`, automounts.
    if (!isDiskError(error, 'ENOENT') || (await unlessAbsent(stat(above))) !== undefined) throw error
    await makeFolders(above, mode)
    await makeFolders(path, mode)
  }
}
