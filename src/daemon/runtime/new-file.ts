import { link, lstat, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SyncError } from '../../sync/model/sync-error.ts'
import { syncFolder, temporaryIn } from '../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { whyNotUsed } from './disk-error-text.ts'
import { printableLine } from './log/log-line.ts'
import { UsageError } from './usage-error.ts'

/** True if there is something at the path. Throws `UsageError` with this remedy if the system does not say. */
export async function isThere(path: string, mend: string): Promise<boolean> {
  try {
    return (await unlessAbsent(lstat(path))) !== undefined
  } catch (error) {
    if (!isDiskError(error)) throw error
    throw new UsageError(`Cannot write "${printableLine(path)}": ${whyNotUsed(error)}; ${mend}`)
  }
}

/**
 * Writes a file atomically, readable for others. If the path exists, returns false and leaves it unchanged. Throws
 * `UsageError` if the disk refuses it.
 */
export async function writeNew(path: string, text: string): Promise<boolean> {
  const folder = dirname(path)
  const temporary = temporaryIn(folder)
  try {
    await makeFolders(folder)
    await using handle = await open(temporary, 'wx', 0o644)
    await handle.writeFile(text)
    await handle.sync()
    // Unlike a rename, a link never replaces an existing file.
    await link(temporary, path)
    await syncFolder(folder)
  } catch (error) {
    if (isDiskError(error, 'EEXIST')) return false
    throw notWritten(path, error instanceof SyncError ? error.cause : error)
  } finally {
    await rm(temporary, { force: true }).catch(() => {})
  }
  return true
}

function notWritten(path: string, cause: unknown): unknown {
  if (!isDiskError(cause)) return cause
  const why = cause.code === 'ENOENT' ? 'no folder can be made there' : whyNotUsed(cause)
  return new UsageError(`Cannot write "${printableLine(path)}": ${why}`)
}
