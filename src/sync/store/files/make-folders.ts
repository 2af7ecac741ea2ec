import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDiskError, unlessAbsent } from './disk-error.ts'

/**
 * Creates a folder and its missing parents with these permission bits, minus the umask; an existing one stays
 * unchanged. Rejects with the system's error.
 */
export async function makeFolders(path: string, mode = 0o777): Promise<void> {
  const failure = await failureToMake(path, mode)
  if (failure === undefined) return
  if (!isDiskError(failure, 'ENOENT')) throw failure
  const above = dirname(path)
  if ((await unlessAbsent(stat(above))) === undefined) await makeFolders(above, mode)
  // Another call may have created the parent since. Node's own recursion never ends below an existing folder in which the
  // system reports ENOENT: `/proc`, automounts.
  const second = await failureToMake(path, mode)
  if (second !== undefined) throw second
}

/** The error of creating this folder alone; `undefined` if it is there. */
async function failureToMake(path: string, mode: number): Promise<Error | undefined> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return (await unlessAbsent(stat(path)))?.isDirectory() === true ? undefined : error
  }
  return undefined
}
