import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDiskError, unlessAbsent } from './disk-error.ts'

/**
 * Makes a folder, and those above it that are missing, with these permission bits as far as the umask leaves them; one that is
 * there stays as it is. Rejects with the error of the system.
 */
export async function makeFolders(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if ((await unlessAbsent(stat(path)))?.isDirectory() === true) return
    const above = dirname(path)
    // The recursion of Node never ends below a folder that is there and in which the system says ENOENT: `/proc`, automounts.
    if (!isDiskError(error, 'ENOENT') || (await unlessAbsent(stat(above))) !== undefined) throw error
    await makeFolders(above, mode)
    await makeFolders(path, mode)
  }
}
