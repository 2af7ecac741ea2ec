import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { SyncError } from '../../sync/model/sync-error.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'

/** The file that is written, opened for one piece: others may give it another name, or remove it, at any time. */
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
    throw new SyncError('store-failed', `Cannot write "${path}": it is not a regular file`)
  }

  /**
   * Takes from the lines those that are written: whole ones of at most so many bytes, and one at least. None where the file has
   * another name by now, or was removed meanwhile with what was written. False where it would outgrow the limit.
   */
  async write(
    lines: string[],
    { limit, atOnce }: { readonly limit: number; readonly atOnce: number },
  ): Promise<boolean> {
    const isTorn = await this.#isTorn()
    // Right before it is written to: others write too, and each may find the same room.
    const found = await unlessAbsent(stat(this.#path))
    if (found?.ino !== this.#inode) return true
    const room = limit - found.size
    // A line that is longer than a file may be has one of its own.
    if (found.size > 0 && Buffer.byteLength(lines[0] ?? '') > room) return false
    const count = countWithin(lines, Math.min(room, atOnce, MOST_AT_ONCE))
    const piece = Buffer.from((isTorn ? '\n' : '') + lines.slice(0, count).join(''))
    const { bytesWritten } = await this.#handle.write(piece)
    if ((await this.#handle.stat()).nlink === 0) return true
    // What is in the file whole is not written again.
    const whole = piece.toString('latin1', 0, bytesWritten).split('\n').length - 1 - (isTorn ? 1 : 0)
    lines.splice(0, Math.max(0, whole))
    if (bytesWritten < piece.length)
      throw new SyncError('store-failed', `Cannot write "${this.#path}": no room for all of it`)
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }

  /** Whether somebody was stopped in the middle of the last line: a full disk takes a part. */
  async #isTorn(): Promise<boolean> {
    let size = this.#size
    while (size > 0 && !(await this.#isLineBefore(size))) {
      // A write of more than a page is seen in parts: one that goes on is no torn one.
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

/** For reading too: whether the last line is whole. A link in the file's place is not followed. */
const APPENDING =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** What a write that goes on moves by a part in at least. */
const SETTLED_MS = 20

/** One write each: those of several processes do not mix. */
const MOST_AT_ONCE = 65_536

/** How many of them have so many bytes at most; one at least. */
function countWithin(lines: readonly string[], bytes: number): number {
  let length = 0
  const beyond = lines.findIndex((line, index) => (length += Buffer.byteLength(line)) > bytes && index > 0)
  return beyond === -1 ? lines.length : beyond
}
