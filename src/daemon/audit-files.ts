import { constants } from 'node:fs'
import { link, lstat, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../sync/model/sync-error.ts'
import { removeAll, temporaryIn } from '../sync/store/atomic.ts'
import { isDiskError, unlessAbsent } from '../sync/store/disk-error.ts'
import { makeFolder } from '../sync/store/state-folder.ts'
import type { AuditConfig } from './config.ts'

/** The file that is written; those before it are `audit-<number>.jsonl`, the highest number the youngest. */
export const AUDIT_FILE = 'audit.jsonl'

/**
 * Lines in a folder of bounded files, which any number of processes write at once: each piece goes out in one write at the end of
 * the file, and only who has the lock gives the file another name. A process that comes and goes leaves nothing of its own.
 */
export class AuditFiles {
  readonly #folder: string
  readonly #limits: AuditConfig

  constructor(folder: string, limits: AuditConfig) {
    this.#folder = folder
    this.#limits = limits
  }

  /** Takes from the lines, oldest first, those that are written. Throws where the disk refuses the next one. */
  async append(lines: string[]): Promise<void> {
    makeFolder(this.#folder, 0o700)
    while (lines.length > 0) {
      if (await this.#appendSome(lines)) continue
      if (await this.#rotate(Buffer.byteLength(lines[0] ?? ''))) continue
      // Another process has it in hand, or had and was killed. The file may outgrow its limit for so long, and not without end.
      if (!(await this.#appendSome(lines, 2))) return
    }
  }

  /** False where the file has no room: it is full, times so many. */
  async #appendSome(lines: string[], times = 1): Promise<boolean> {
    const handle = await open(this.#path, APPENDING, 0o600)
    try {
      const found = await handle.stat()
      if (!found.isFile()) throw new SyncError('store-failed', `Cannot write "${this.#path}": it is not a regular file`)
      const { size } = found
      const room = this.#limits.bytes * times - size
      const first = lines[0] ?? ''
      // A line that is longer than a file may be has one of its own.
      if (size > 0 && Buffer.byteLength(first) > room) return false
      await writeSome(handle, lines, Math.min(room, MOST_AT_ONCE), await isTorn(handle, size))
      return true
    } finally {
      await handle.close()
    }
  }

  /** Gives the full file its number, and removes those that are too many. False where another process does. */
  async #rotate(needed: number): Promise<boolean> {
    const lock = join(this.#folder, 'rotating')
    if (!(await this.#takeLock(lock))) return false
    try {
      // Who had the lock before may have done it already.
      const found = await unlessAbsent(stat(this.#path))
      if (found === undefined || found.size === 0 || found.size + needed <= this.#limits.bytes) return true
      const numbers = await this.#numbers()
      await rename(this.#path, this.#numbered((numbers.at(-1) ?? 0) + 1))
      for (const old of numbers.slice(0, Math.max(0, numbers.length + 2 - this.#limits.files))) {
        await unlink(this.#numbered(old)).catch(unlessGone)
      }
      if (this.#limits.files === 1) await unlink(this.#numbered((numbers.at(-1) ?? 0) + 1)).catch(unlessGone)
      return true
    } finally {
      await unlink(lock).catch(unlessGone)
    }
  }

  /** One that was left behind by a kill is broken: what is done under it takes milliseconds. */
  async #takeLock(lock: string): Promise<boolean> {
    if (await isMade(lock)) return true
    const found = await unlessAbsent(lstat(lock))
    if (found === undefined || Math.abs(Date.now() - found.mtimeMs) < LOCK_MS) return false
    // Moved aside first: of several who find it old, one alone has it in its hands.
    const aside = temporaryIn(this.#folder)
    if ((await unlessAbsent(rename(lock, aside).then(() => true))) !== true) return false
    const taken = await lstat(aside)
    // Somebody else broke it meanwhile, and this is the new one: it is given back.
    if (taken.ino !== found.ino || taken.mtimeMs !== found.mtimeMs) await link(aside, lock).catch(ignoreExisting)
    await removeAll(aside)
    return isMade(lock)
  }

  async #numbers(): Promise<number[]> {
    const found = (await readdir(this.#folder)).flatMap((name) => NUMBERED.exec(name)?.[1] ?? [])
    return found.map(Number).toSorted((a, b) => a - b)
  }

  #numbered(number: number): string {
    return join(this.#folder, `audit-${number}.jsonl`)
  }

  get #path(): string {
    return join(this.#folder, AUDIT_FILE)
  }
}

/** For reading too: whether the last line is whole. A link in the file's place is not followed. */
const APPENDING =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** One write each: those of several processes do not mix. */
const MOST_AT_ONCE = 65_536

const LOCK_MS = 10_000

const NUMBERED = /^audit-(\d{1,15})\.jsonl$/

/** Whether somebody was stopped in the middle of the last line: a full disk takes a part. */
async function isTorn(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const last = Buffer.alloc(1)
  const { bytesRead } = await handle.read(last, 0, 1, size - 1)
  return bytesRead === 1 && last.toString('latin1') !== '\n'
}

/** Whole lines of at most so many bytes, and one at least. */
async function writeSome(handle: FileHandle, lines: string[], bytes: number, afterTorn: boolean): Promise<void> {
  let count = 1
  let length = Buffer.byteLength(lines[0] ?? '')
  for (; count < lines.length; count += 1) {
    length += Buffer.byteLength(lines[count] ?? '')
    if (length > bytes) break
  }
  const piece = Buffer.from((afterTorn ? '\n' : '') + lines.slice(0, count).join(''))
  const { bytesWritten } = await handle.write(piece)
  if (bytesWritten === piece.length) return void lines.splice(0, count)
  // What is in the file whole is not written again.
  const written = piece.toString('utf8', 0, bytesWritten).split('\n').length - 1 - (afterTorn ? 1 : 0)
  lines.splice(0, Math.max(0, written))
  throw Object.assign(new Error('The disk takes no more'), { code: 'ENOSPC', syscall: 'write' })
}

async function isMade(lock: string): Promise<boolean> {
  try {
    const handle = await open(lock, 'wx', 0o600)
    await handle.close()
    return true
  } catch (error) {
    if (isDiskError(error, 'EEXIST')) return false
    throw error
  }
}

function unlessGone(error: unknown): void {
  if (!isDiskError(error, 'ENOENT')) throw error
}

function ignoreExisting(error: unknown): void {
  if (!isDiskError(error, 'EEXIST')) throw error
}
