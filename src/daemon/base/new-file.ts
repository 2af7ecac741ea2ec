import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder, temporaryIn } from '../../sync/store/files/atomic.ts'
import { cannot, isDiskError } from '../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'

/**
 * Writes a file atomically, readable for others. If the path exists, returns false and leaves it unchanged; with
 * `replace` it is replaced.
 */
export async function writeNew(path: string, text: string, replace: boolean): Promise<boolean> {
  const folder = dirname(path)
  const temporary = temporaryIn(folder)
  try {
    await makeFolders(folder)
    await using handle = await open(temporary, 'wx', 0o644)
    await handle.writeFile(text)
    await handle.sync()
    // Unlike a rename, a link never replaces an existing file.
    if (replace) await rename(temporary, path)
    else await link(temporary, path)
  } catch (error) {
    if (isDiskError(error, 'EEXIST')) return false
    cannot(`write "${path}"`)(error)
  } finally {
    await rm(temporary, { force: true }).catch(() => {})
  }
  await syncFolder(folder)
  return true
}
