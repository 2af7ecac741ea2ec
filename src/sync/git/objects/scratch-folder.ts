import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { isSystemError, SyncError } from '../../model/sync-error.ts'

/** Creates a folder in the scratch folder of a pull, which exists from the first call on. Returns its path. */
export async function folderInScratch(scratch: string, prefix: string): Promise<string> {
  try {
    await mkdir(scratch, { mode: 0o700 }).catch(unlessThere)
    return await mkdtemp(join(scratch, prefix))
  } catch (cause) {
    throw new SyncError('store-failed', `Cannot make a folder in "${scratch}"`, { cause })
  }
}

function unlessThere(error: unknown): void {
  if (!isSystemError(error) || error.code !== 'EEXIST') throw error
}
