import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { diskFix, SyncError } from '../../../sync/model/sync-error.ts'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'

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
