import type { BigIntStats } from 'node:fs'
import { link, lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { diskFix, SyncError } from '../../model/sync-error.ts'
import { removeAll } from './atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'

/**
 * A lock file among processes that change the same thing: the process that created it holds the lock until disposal. A
 * lock is held for milliseconds; one that is ten seconds old is abandoned, and another process breaks it. A process
 * that was merely stopped for so long finds out with `isOurs`.
 */
export class FileLock implements AsyncDisposable {
  readonly path: string
  /** The file, open for writing. It stays open so that no other file gets its inode number. */
  readonly handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
  }

  /** Waits until the lock is free. `now` is the wall clock, as file times are. */
  static async take(path: string, now: () => number, signal: AbortSignal): Promise<FileLock> {
    for (;;) {
      signal.throwIfAborted()
      const turn = await FileLock.takeIfFree(path, now)
      if (turn !== undefined) return turn
      await setTimeout(PAUSE_MS, undefined, { signal })
    }
  }

  /** `undefined` if another process holds the lock. */
  static async takeIfFree(path: string, now: () => number): Promise<FileLock | undefined> {
    await sweep(path, now)
    const handle = (await madeAt(path)) ?? ((await isBroken(path, now)) ? await madeAt(path) : undefined)
    return handle === undefined ? undefined : new FileLock(path, handle)
  }

  /** True if no other process has broken the lock. */
  async isOurs(): Promise<boolean> {
    const [there, own] = [
      await foundAt(this.path),
      await this.handle.stat({ bigint: true }).catch(lookingAt(this.path)),
    ]
    return there !== undefined && isSame(there, own)
  }

  /** After a rename, or if the lock was broken, the path belongs to the next holder. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (await this.isOurs()) await rm(this.path, { force: true }).catch(cannot(`remove "${this.path}"`))
    } finally {
      await this.handle.close()
    }
  }
}

const ABANDONED_MS = 10_000

const PAUSE_MS = 20

async function madeAt(path: string): Promise<FileHandle | undefined> {
  return open(path, 'wx', 0o666).catch((error: unknown) => {
    if (isDiskError(error, 'EEXIST')) return undefined
    return cannot(`write "${path}"`)(error)
  })
}

/** Returns true if an abandoned lock is gone now. */
async function isBroken(path: string, now: () => number): Promise<boolean> {
  const found = await foundAt(path)
  if (found === undefined) return true
  if (!found.isFile())
    throw new SyncError('store-failed', `Cannot write "${path}": it is not a regular file`, { fix: diskFix('EISDIR') })
  if (!isAbandoned(found, now)) return false
  // Only one process at a time breaks a lock, and it checks again. The lock that another process found old may by now
  // belong to the next holder.
  const aside = asideOf(path)
  if (!(await isFolderMade(aside))) return false
  try {
    const again = await foundAt(path)
    if (again === undefined) return true
    return isAbandoned(again, now) && (await isTakenAway(path, again, join(aside, 'turn')))
  } finally {
    await removeAll(aside)
  }
}

/** True if the removed file was the abandoned one. */
async function isTakenAway(path: string, old: BigIntStats, aside: string): Promise<boolean> {
  if ((await unlessAbsent(rename(path, aside).then(() => true)).catch(cannot(`remove "${path}"`))) !== true)
    return false
  const taken = await foundAt(aside)
  if (taken === undefined) return false
  if (isSame(taken, old)) return true
  // The owner woke and released it meanwhile, so this lock belongs to the next holder; put it back. If links are
  // unsupported, or another process has created a new lock since, the holder of this lock finds out with `isOurs`.
  await link(aside, path).catch((error: unknown) => {
    if (!isDiskError(error, 'EEXIST', 'EPERM', 'ENOTSUP')) cannot(`write "${path}"`)(error)
  })
  return false
}

/** Cleans up after a process that was killed while it broke a lock. Otherwise no lock could be broken any more. */
async function sweep(path: string, now: () => number): Promise<void> {
  const found = await foundAt(asideOf(path))
  if (found !== undefined && isAbandoned(found, now)) await removeAll(asideOf(path))
}

function asideOf(path: string): string {
  return `${path}.broken`
}

async function isFolderMade(path: string): Promise<boolean> {
  const made = mkdir(path).then(() => true)
  return made.catch((error: unknown) => (isDiskError(error, 'EEXIST') ? false : cannot(`make "${path}"`)(error)))
}

/** True also for a file from the future: otherwise the wait would last as long as the clock was wrong. */
function isAbandoned({ mtimeMs }: BigIntStats, now: () => number): boolean {
  return Math.abs(now() - Number(mtimeMs)) >= ABANDONED_MS
}

/** Compares bigints: inode numbers can exceed the precision of a `number`. */
function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

async function foundAt(path: string): Promise<BigIntStats | undefined> {
  return unlessAbsent(lstat(path, { bigint: true })).catch(lookingAt(path))
}

function lookingAt(path: string): (cause: unknown) => never {
  return cannot(`read the attributes of "${path}"`)
}
