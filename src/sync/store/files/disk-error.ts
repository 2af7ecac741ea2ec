import { SyncError } from '../../model/sync-error.ts'

/** For `.catch`: an error of the file system becomes `store-failed`; whatever else was thrown goes on as it is. */
export function cannot(attempt: string): (cause: unknown) => never {
  return (cause) => {
    if (!isDiskError(cause)) throw cause
    throw new SyncError('store-failed', `Cannot ${attempt}: ${cause.code}`, { cause })
  }
}

/** What is done at once, with the errors of the file system as `cannot` has them. */
export function attempted<Done>(attempt: string, work: () => Done): Done {
  try {
    return work()
  } catch (error) {
    return cannot(attempt)(error)
  }
}

/** Whether it comes from the operating system, with one of these codes where some are named. */
export function isDiskError(error: unknown, ...codes: readonly string[]): error is Error & { readonly code: string } {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return false
  return typeof error.code === 'string' && (codes.length === 0 || codes.includes(error.code))
}

/** Whether it is our error for a disk that nothing can be written to at this moment: full, out of files, read-only, failing. */
export function isUnwritable(error: unknown): error is SyncError {
  return error instanceof SyncError && isDiskError(error.cause, 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO')
}

/** What the promise gives; undefined where nothing is at the path that it is about. */
export async function unlessAbsent<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (isDiskError(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
