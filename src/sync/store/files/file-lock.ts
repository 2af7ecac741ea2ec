import type { BigIntStats } from 'node:fs'
import { link, lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SyncError } from '../../model/sync-error.ts'
import { removeAll } from './atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'

/**
 * The turn of one of several processes that change the same thing: whoever made the file first has it, until disposed. It is
 * had for milliseconds: one of ten seconds is of the dead and is taken away. Who was only stopped so long learns it by asking.
 */
export class Turn implements AsyncDisposable {
  readonly path: string
  /** The file, open for writing, and kept open: no other file has its number so long. */
  readonly handle: FileHandle

  private constructor(path: string, handle: FileHandle) {
    this.path = path
    this.handle = handle
  }

  /** Waits for those that have it. `now` is the wall clock, as the times of files are. */
  static async take(path: string, now: () => number, signal: AbortSignal): Promise<Turn> {
    for (;;) {
      signal.throwIfAborted()
      const turn = await Turn.takeIfFree(path, now)
      if (turn !== undefined) return turn
      await setTimeout(PAUSE_MS, undefined, { signal })
    }
  }

  /** Undefined where another has it. */
  static async takeIfFree(path: string, now: () => number): Promise<Turn | undefined> {
    await sweep(path, now)
    const handle = (await madeAt(path)) ?? ((await isBroken(path, now)) ? await madeAt(path) : undefined)
    return handle === undefined ? undefined : new Turn(path, handle)
  }

  /** Whether nobody took it away. */
  async isOurs(): Promise<boolean> {
    const [there, own] = [
      await foundAt(this.path),
      await this.handle.stat({ bigint: true }).catch(lookingAt(this.path)),
    ]
    return there !== undefined && isSame(there, own)
  }

  /** Once the file was renamed, or taken away, the path is that of the next in turn. */
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

/** Whether one that was left behind is out of the way. */
async function isBroken(path: string, now: () => number): Promise<boolean> {
  const found = await foundAt(path)
  if (found === undefined) return true
  if (!found.isFile()) throw new SyncError('store-failed', `Cannot write "${path}": it is not a regular file`)
  if (!isAbandoned(found, now)) return false
  // One alone takes away, and looks again: what another found old is long that of the next in turn.
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

/** Whether it was the one that is looked for. */
async function isTakenAway(path: string, old: BigIntStats, aside: string): Promise<boolean> {
  if ((await unlessAbsent(rename(path, aside).then(() => true)).catch(cannot(`remove "${path}"`))) !== true)
    return false
  const taken = await foundAt(aside)
  if (taken === undefined) return false
  if (isSame(taken, old)) return true
  // Its owner woke and gave it back meanwhile, and this is the next one's. Where there are no links, or where another made
  // one since, that one learns it by asking.
  await link(aside, path).catch((error: unknown) => {
    if (!isDiskError(error, 'EEXIST', 'EPERM', 'ENOTSUP')) cannot(`write "${path}"`)(error)
  })
  return false
}

/** Removes what a process left that was killed while it took a turn away: nobody else could. */
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

/** A file from the future is as old: it would be waited for as long as the clock was wrong. */
function isAbandoned({ mtimeMs }: BigIntStats, now: () => number): boolean {
  return Math.abs(now() - Number(mtimeMs)) >= ABANDONED_MS
}

/** Numbers of files can be larger than a `number` tells apart. */
function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

async function foundAt(path: string): Promise<BigIntStats | undefined> {
  return unlessAbsent(lstat(path, { bigint: true })).catch(lookingAt(path))
}

function lookingAt(path: string): (cause: unknown) => never {
  return cannot(`look at "${path}"`)
}
