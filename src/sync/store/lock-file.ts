import { open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises'
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
  for (;;) {
    await using draft = await Draft.claim(`${file}.new`, now)
    const before = await textOf(file)
    const after = lockText(change(before === undefined ? EMPTY_LOCK : readLockText(before, file)))
    if (after === before) return false
    if (await draft.becomes(file, after)) return true
  }
}

/** The new text, written where everybody would: whoever made the file first is the one who writes. */
class Draft implements AsyncDisposable {
  readonly #path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  static async claim(path: string, now: () => number): Promise<Draft> {
    for (;;) {
      const handle = await open(path, 'wx', 0o666).catch((error: unknown) => {
        if (isDiskError(error, 'EEXIST')) return undefined
        return cannot(`write "${path}"`)(error)
      })
      if (handle !== undefined) return new Draft(path, handle)
      await expectAbandoned(path, now)
    }
  }

  /** Puts the text in the place of the file. False where this took so long that somebody else took over. */
  async becomes(file: string, text: string): Promise<boolean> {
    await this.#handle.writeFile(text).catch(cannot(`write "${this.#path}"`))
    await this.#handle.sync().catch(cannot(`write "${this.#path}"`))
    if (!(await this.#isOurs())) return false
    await rename(this.#path, file).catch(cannot(`write the lock "${file}"`))
    await syncFolder(dirname(file))
    return true
  }

  /** Once renamed, or taken over, the path is that of the next in turn. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (await this.#isOurs()) await rm(this.#path, { force: true })
    await this.#handle.close()
  }

  async #isOurs(): Promise<boolean> {
    const there = await unlessAbsent(stat(this.#path)).catch(cannot(`look at "${this.#path}"`))
    return there?.ino === (await this.#handle.stat()).ino
  }
}

/** Writing takes milliseconds. What is older was left by a process that was killed. */
const ABANDONED_MS = 10_000

const PAUSE_MS = 20

async function expectAbandoned(path: string, now: () => number): Promise<void> {
  const found = await unlessAbsent(stat(path)).catch(cannot(`look at "${path}"`))
  if (found === undefined) return
  if (now() - found.mtimeMs < ABANDONED_MS) await setTimeout(PAUSE_MS)
  else await rm(path, { force: true }).catch(cannot(`remove "${path}"`))
}
