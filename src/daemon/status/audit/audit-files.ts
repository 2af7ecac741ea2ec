import { constants } from 'node:fs'
import { open, readdir, rename, stat, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { diskFix, SyncError } from '../../../sync/model/sync-error.ts'
import { cannot, isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { FileLock } from '../../../sync/store/files/file-lock.ts'
import { makeFolder } from '../../../sync/store/files/state-folder.ts'
import type { AuditConfig } from '../../config/sections/machine.ts'

/** The current file of reads. Earlier files are `audit-<number>.jsonl`; the highest number is the youngest. */
export const AUDIT_FILE = 'audit.jsonl'

/** The files of each kind of line: reads, decisions on known clients, and refusals of unknown ones. */
export type AuditName = 'audit' | 'decisions' | 'strangers'

/**
 * Lines in a folder of bounded files, which any number of processes write at the same time. Each piece is one write at
 * the end of the file, and only the process that holds the turn renames the file. A process leaves no files of its own
 * behind.
 */
export class AuditFiles {
  readonly #folder: string
  readonly #limits: AuditConfig
  readonly #now: () => number
  readonly #name: string
  readonly #numberedName: RegExp

  /**
   * `now` is the wall clock, for the traces of killed processes. The files are `<name>.jsonl` and
   * `<name>-<number>.jsonl`.
   */
  constructor(folder: string, limits: AuditConfig, now: () => number, name: AuditName = 'audit') {
    this.#folder = folder
    this.#limits = limits
    this.#now = now
    this.#name = name
    this.#numberedName = new RegExp(`^${name}-([1-9]\\d{0,14})\\.jsonl$`)
  }

  /**
   * Writes lines, oldest first, and removes the written ones from the array. Throws `store-failed` if the disk refuses
   * the next one.
   */
  async append(lines: string[]): Promise<void> {
    makeFolder(this.#folder, 0o700)
    await this.#appendAll(lines).catch(cannot('write the audit log'))
  }

  async #appendAll(lines: string[]): Promise<void> {
    while (lines.length > 0) {
      if (await this.#appendSome(lines)) continue
      if (await this.#rotate(Buffer.byteLength(lines[0] ?? ''))) continue
      // Another process is rotating the file, or was killed while it did. The file may exceed its limit meanwhile, but
      // not without bound.
      if (!(await this.#appendSome(lines, 2))) return
    }
  }

  /** False if the file is full: it has reached its limit times `times`. */
  async #appendSome(lines: string[], times = 1): Promise<boolean> {
    const { bytes } = this.#limits
    await using file = await AuditFile.open(this.#path)
    return await file.write(lines, { limit: bytes * times, atOnce: bytes / PIECES })
  }

  /** Gives the full file its number and removes surplus files. False if another process is doing so. */
  async #rotate(needed: number): Promise<boolean> {
    await using turn = await FileLock.takeIfFree(
      join(this.#folder, this.#name === 'audit' ? 'rotating' : `rotating-${this.#name}`),
      this.#now,
    )
    if (turn === undefined) return false
    // The previous holder of the turn may have rotated the file already.
    const found = await unlessAbsent(stat(this.#path))
    if (found === undefined || found.size === 0 || found.size + needed <= this.#limits.bytes) return true
    const numbers = await this.#numbersBelowLast()
    const next = await this.#reserve((numbers.at(-1) ?? 0) + 1)
    const isMoved = (await turn.isOurs()) && (await isDone(rename(this.#path, this.#pathOf(next))))
    if (!isMoved) {
      await unlessAbsent(unlink(this.#pathOf(next)))
      return false
    }
    const all = [...numbers, next]
    for (const old of all.slice(0, Math.max(0, all.length + 1 - this.#limits.files))) {
      await unlessAbsent(unlink(this.#pathOf(old)))
    }
    return true
  }

  /**
   * Reserves a number that no other process has. Even if the turn was taken away, no file replaces another one that has
   * lines.
   */
  async #reserve(number: number): Promise<number> {
    try {
      await using _made = await open(this.#pathOf(number), 'wx', 0o600)
      return number
    } catch (error) {
      if (!isDiskError(error, 'EEXIST')) throw error
      return this.#reserve(number + 1)
    }
  }

  /**
   * The present numbers, oldest first. If a file has the highest possible number, renumbers all from 1, so that each
   * number has a successor.
   */
  async #numbersBelowLast(): Promise<readonly number[]> {
    const numbers = await this.#numbers()
    if (numbers.at(-1) !== LAST_NUMBER) return numbers
    for (const [index, number] of numbers.entries()) {
      // No file is in the way: each earlier one already has its new name.
      await unlessAbsent(rename(this.#pathOf(number), this.#pathOf(index + 1)))
    }
    return this.#numbers()
  }

  async #numbers(): Promise<readonly number[]> {
    const entries = await readdir(this.#folder, { withFileTypes: true })
    const found = entries.flatMap((entry) => (entry.isFile() ? (this.#numberedName.exec(entry.name)?.[1] ?? []) : []))
    return found.map(Number).toSorted((a, b) => a - b)
  }

  #pathOf(number: number): string {
    return join(this.#folder, `${this.#name}-${number}.jsonl`)
  }

  get #path(): string {
    return join(this.#folder, `${this.#name}.jsonl`)
  }
}

async function isDone(moved: Promise<void>): Promise<boolean> {
  return (await unlessAbsent(moved.then(() => true))) ?? false
}

/** A thousand processes that write at the same moment exceed the limit of a file by no more than that limit. */
const PIECES = 1_024

const LAST_NUMBER = 999_999_999_999_999

/** The current audit file, opened for one write. Other processes may rename or remove it at any time. */
export class AuditFile implements AsyncDisposable {
  readonly #size: number
  readonly #path: string
  readonly #inode: number
  readonly #handle: FileHandle

  private constructor(
    path: string,
    handle: FileHandle,
    { size, ino }: { readonly size: number; readonly ino: number },
  ) {
    this.#size = size
    this.#path = path
    this.#inode = ino
    this.#handle = handle
  }

  static async open(path: string): Promise<AuditFile> {
    const handle = await open(path, APPENDING, 0o600)
    const found = await handle.stat()
    if (found.isFile()) return new AuditFile(path, handle, found)
    await handle.close()
    throw new SyncError('store-failed', `Cannot write "${path}": it is not a regular file`, { fix: diskFix('EISDIR') })
  }

  /**
   * Writes lines and removes the written ones from the array: whole lines of at most `atOnce` bytes, and at least one.
   * Removes none if the file was renamed, or was removed together with the written lines. False if the file would
   * exceed the limit.
   */
  async write(
    lines: string[],
    { limit, atOnce }: { readonly limit: number; readonly atOnce: number },
  ): Promise<boolean> {
    const isTorn = await this.#isTorn()
    // Checked right before the write: other processes write too, and each may find the same free space.
    const found = await unlessAbsent(stat(this.#path))
    if (found?.ino !== this.#inode) return true
    const room = limit - found.size
    // A line that is longer than the limit gets a file of its own.
    if (found.size > 0 && Buffer.byteLength(lines[0] ?? '') > room) return false
    const count = countWithin(lines, Math.min(room, atOnce, MOST_AT_ONCE))
    const piece = Buffer.from((isTorn ? '\n' : '') + lines.slice(0, count).join(''))
    const { bytesWritten } = await this.#handle.write(piece)
    if ((await this.#handle.stat()).nlink === 0) return true
    // Lines that are whole in the file are not written again.
    const whole = piece.toString('latin1', 0, bytesWritten).split('\n').length - 1 - (isTorn ? 1 : 0)
    lines.splice(0, Math.max(0, whole))
    if (bytesWritten < piece.length)
      throw new SyncError('store-failed', `Cannot write "${this.#path}": no room for all of it`, {
        fix: diskFix('ENOSPC'),
      })
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }

  /** True if a write stopped in the middle of the last line: a full disk takes a part. */
  async #isTorn(): Promise<boolean> {
    let size = this.#size
    while (size > 0 && !(await this.#isLineBefore(size))) {
      // Other processes see a write of more than a page in parts. A write that still continues is not torn.
      await setTimeout(SETTLED_MS)
      const { size: now } = await this.#handle.stat()
      if (now === size) return true
      size = now
    }
    return false
  }

  async #isLineBefore(size: number): Promise<boolean> {
    const last = Buffer.alloc(1)
    const { bytesRead } = await this.#handle.read(last, 0, 1, size - 1)
    return bytesRead === 0 || last.toString('latin1') === '\n'
  }
}

/** Read access serves the check for a whole last line. A link instead of the file is not followed. */
const APPENDING =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** The time within which a write that is under way grows the file. */
const SETTLED_MS = 20

/** The bytes of one `write` call, so that the lines of several processes do not mix. */
const MOST_AT_ONCE = 65_536

/** The number of leading lines with at most so many bytes in total; at least one. */
function countWithin(lines: readonly string[], bytes: number): number {
  let length = 0
  const beyond = lines.findIndex((line, index) => (length += Buffer.byteLength(line)) > bytes && index > 0)
  return beyond === -1 ? lines.length : beyond
}
