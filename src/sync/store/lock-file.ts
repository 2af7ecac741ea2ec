import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { EMPTY_LOCK, type Lock } from '../model/lock.ts'
import { SyncError } from '../model/sync-error.ts'
import { syncFolder } from './atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'
import { lockText, readLockText } from './lock-text.ts'

/** Locks of more than that are nobody's: some 200,000 skills. */
const MOST_BYTES = 2 ** 26

/** The lock that the file holds; undefined where there is no file. One that cannot be read is `lock-mismatch`, never empty. */
export async function readLock(file: string): Promise<Lock | undefined> {
  const text = await textOf(file)
  return text === undefined ? undefined : readLockText(text, file)
}

async function textOf(file: string): Promise<string | undefined> {
  const found = await unlessAbsent(stat(file)).catch(cannot(`look for the lock "${file}"`))
  if (found === undefined) return undefined
  if (!found.isFile() || found.size > MOST_BYTES)
    throw new SyncError('lock-mismatch', `Cannot read the lock "${file}": it is no file, or over ${MOST_BYTES} bytes`)
  return unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read the lock "${file}"`))
}

/**
 * Changes the lock in one step: a reader, and whoever looks after a crash, finds the old text or the new one. Two that
 * change it at once go one after the other. Says whether there was anything to write.
 */
export async function changeLock(file: string, change: (lock: Lock) => Lock, now: () => number): Promise<boolean> {
  const beside = `${file}.new`
  await using draft = await claim(beside, now)
  const before = await textOf(file)
  const after = lockText(change(before === undefined ? EMPTY_LOCK : readLockText(before, file)))
  if (after === before) return false
  await draft.write(after)
  await rename(beside, file).catch(cannot(`write the lock "${file}"`))
  await syncFolder(dirname(file))
  return true
}

/** The new text is written where everybody would: whoever made the file first is the one who writes. */
async function claim(beside: string, now: () => number) {
  for (;;) {
    const handle = await open(beside, 'wx', 0o666).catch((error: unknown) => {
      if (isDiskError(error, 'EEXIST')) return undefined
      return cannot(`write the lock beside "${beside}"`)(error)
    })
    if (handle !== undefined) {
      return {
        write: async (text: string): Promise<void> => {
          await handle.writeFile(text).catch(cannot(`write "${beside}"`))
          await handle.sync().catch(cannot(`write "${beside}"`))
        },
        [Symbol.asyncDispose]: async (): Promise<void> => {
          await handle.close()
          await rm(beside, { force: true })
        },
      }
    }
    await expectAbandoned(beside, now)
  }
}

/** Writing takes milliseconds. What is older was left by a process that was killed. */
const ABANDONED_MS = 10_000

const PAUSE_MS = 20

async function expectAbandoned(beside: string, now: () => number): Promise<void> {
  const found = await unlessAbsent(stat(beside)).catch(cannot(`look at "${beside}"`))
  if (found === undefined) return
  if (now() - found.mtimeMs < ABANDONED_MS) await setTimeout(PAUSE_MS)
  else await rm(beside, { force: true }).catch(cannot(`remove "${beside}"`))
}
