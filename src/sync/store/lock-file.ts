import { readFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { EMPTY_LOCK, type Lock } from '../model/decisions/lock.ts'
import { SyncError } from '../model/sync-error.ts'
import { syncFolder } from './files/atomic.ts'
import { cannot, unlessAbsent } from './files/disk-error.ts'
import { FileLock } from './files/file-lock.ts'
import { lockText, readLockText } from './lock-text.ts'

/** The maximum size of a lock; it is enough for some 200,000 skills. */
const MOST_BYTES = 2 ** 26

/** Reads the lock; `undefined` if the file does not exist. An unreadable lock is `lock-mismatch`, never empty. */
export async function readLock(file: string): Promise<Lock | undefined> {
  const text = await textOf(file)
  return text === undefined ? undefined : readLockText(text, file)
}

async function textOf(file: string): Promise<string | undefined> {
  const found = await unlessAbsent(stat(file)).catch(cannot(`check the lock "${file}"`))
  if (found === undefined) return undefined
  if (!found.isFile() || found.size > MOST_BYTES)
    throw new SyncError(
      'lock-mismatch',
      `Cannot read the lock "${file}": it is not a file, or over ${MOST_BYTES} bytes`,
    )
  return unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read the lock "${file}"`))
}

/**
 * Changes the lock atomically: a reader finds the old text or the new one, even after a crash. Concurrent changes run
 * one after the other. Returns true if there was anything to write.
 */
export async function changeLock(
  file: string,
  change: (lock: Lock) => Lock,
  now: () => number,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    await using turn = await FileLock.take(`${file}.new`, now, signal)
    const before = await textOf(file)
    const after = lockText(change(before === undefined ? EMPTY_LOCK : readLockText(before, file)))
    if (after === before) return false
    if (await becomes(file, after, turn)) return true
  }
}

/**
 * Writes the text to the file that all writers share, and renames it over the lock. Returns false if this took so long
 * that another process took over.
 */
async function becomes(file: string, text: string, turn: FileLock): Promise<boolean> {
  await turn.handle.writeFile(text).catch(cannot(`write "${turn.path}"`))
  await turn.handle.sync().catch(cannot(`write "${turn.path}"`))
  if (!(await turn.isOurs())) return false
  await rename(turn.path, file).catch(cannot(`write the lock "${file}"`))
  await syncFolder(dirname(file))
  return true
}
