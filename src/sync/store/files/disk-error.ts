import { diskText, SyncError } from '../../model/sync-error.ts'

/**
 * Returns a handler for `.catch`: a file system error becomes `store-failed`; any other error is rethrown unchanged.
 * `fixes`: the next step for some of its codes.
 */
export function cannot(attempt: string, fixes: Readonly<Record<string, string>> = {}): (cause: unknown) => never {
  return (cause) => {
    if (!isDiskError(cause)) throw cause
    throw new SyncError('store-failed', `Cannot ${attempt}: ${diskText(cause.code)}`, { cause, fix: fixes[cause.code] })
  }
}

/** Runs synchronous work and converts file system errors as `cannot` does. */
export function runOnDisk<Done>(attempt: string, work: () => Done): Done {
  try {
    return work()
  } catch (error) {
    return cannot(attempt)(error)
  }
}

/** True for an error of the operating system; if `codes` are given, only with one of these. */
export function isDiskError(error: unknown, ...codes: readonly string[]): error is Error & { readonly code: string } {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return false
  return typeof error.code === 'string' && (codes.length === 0 || codes.includes(error.code))
}

/**
 * True for an error that SQLite reports; if `codes` are given, only with one of these result codes, primary or extended
 * (sqlite.org/rescode.html).
 */
export function isDatabaseError(
  error: unknown,
  ...codes: readonly number[]
): error is Error & { readonly errcode: number } {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  return codes.length === 0 || codes.includes(error.errcode) || codes.includes(error.errcode & 0xff)
}

/**
 * True for our error about a disk of our own that cannot be written to at present: full, over quota, read-only, closed,
 * failing. A source on a disk has other codes, whatever the cause.
 */
export function isUnwritable(error: unknown): error is SyncError {
  if (!(error instanceof SyncError) || error.code !== 'store-failed') return false
  return isDiskError(error.cause, ...NO_WRITES) || isDatabaseError(error.cause, ...UNWRITABLE)
}

const NO_WRITES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO']

/** SQLITE_READONLY, _FULL, _CANTOPEN, and of SQLITE_IOERR: _WRITE, _FSYNC, _DIR_FSYNC, _TRUNCATE, _SHMOPEN, _SHMSIZE. */
const UNWRITABLE = [8, 13, 14, 778, 1034, 1290, 1546, 4618, 4874]

/** Returns the result of the promise; `undefined` if its path does not exist. */
export async function unlessAbsent<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (isDiskError(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
