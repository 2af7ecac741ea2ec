import { link, lstat, open, rename, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { removeAll, temporaryIn } from '../sync/store/atomic.ts'
import { isDiskError, unlessAbsent } from '../sync/store/disk-error.ts'

/**
 * Held by the one process that turns the file over. It is held for milliseconds: one that is older was left behind by a kill, and
 * is broken. Who was only stopped meanwhile finds it broken by asking.
 */
export class AuditLock implements AsyncDisposable {
  readonly #path: string
  /** Kept open: no other file can have its number so long. */
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  /** Undefined where another process has it. */
  static async take(path: string): Promise<AuditLock | undefined> {
    const handle = (await madeAt(path)) ?? ((await isBroken(path)) ? await madeAt(path) : undefined)
    return handle === undefined ? undefined : new AuditLock(path, handle)
  }

  async isHeld(): Promise<boolean> {
    const [own, found] = [await this.#handle.stat(), await unlessAbsent(lstat(this.#path))]
    return found !== undefined && found.ino === own.ino && found.dev === own.dev
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (await this.isHeld()) await unlessAbsent(unlink(this.#path))
    } finally {
      await this.#handle.close()
    }
  }
}

/** The file, where there was none of this name. */
export async function madeAt(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    if (isDiskError(error, 'EEXIST')) return undefined
    throw error
  }
}

/** Whether one that was left behind is out of the way. */
async function isBroken(path: string): Promise<boolean> {
  const found = await unlessAbsent(lstat(path))
  if (found === undefined) return true
  if (Math.abs(Date.now() - found.mtimeMs) < LOCK_MS) return false
  // Moved aside first: of several who find it old, one alone has it in its hands.
  const aside = temporaryIn(dirname(path))
  if ((await unlessAbsent(rename(path, aside).then(() => true))) !== true) return false
  const taken = await lstat(aside)
  const isOld = taken.ino === found.ino && taken.mtimeMs === found.mtimeMs
  // Somebody else broke it meanwhile, and this is the new one: it is given back.
  if (!isOld) await link(aside, path).catch(ignoreExisting)
  await removeAll(aside)
  return isOld
}

const LOCK_MS = 10_000

function ignoreExisting(error: unknown): void {
  if (!isDiskError(error, 'EEXIST')) throw error
}
