import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { syncFolder } from '../../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { encodeEntry, parseEntry } from './channel-entry.ts'
import type { ChannelEntry } from './channel-entry.ts'

/**
 * The entries of a log, one line each, in a file that only grows. It is apart from the database, which can be lost and
 * filled again: followers refuse a log that is shorter than the one that they have seen.
 */
export class LogFile {
  readonly #path: string
  /** The bytes of the whole lines. The next append cuts off the rest that a killed process left behind them. */
  #bytes: number

  private constructor(path: string, bytes: number) {
    this.#path = path
    this.#bytes = bytes
  }

  /** Reads the entries. Throws `store-failed` if a line is none: no further entry may be signed then. */
  static async open(path: string): Promise<{ readonly file: LogFile; readonly entries: readonly ChannelEntry[] }> {
    const bytes = (await unlessAbsent(readFile(path)).catch(cannot(`read "${path}"`))) ?? Buffer.alloc(0)
    const whole = bytes.lastIndexOf(NEWLINE) + 1
    const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1)
    const entries = lines.map((line, index) => {
      const entry = parseEntry(Buffer.from(line))
      // The hash of an entry is that of its bytes, so each must be as it was written.
      if (entry === undefined || encodeEntry(entry).toString() !== `${line}\n`) throw damaged(path, index + 1)
      return entry
    })
    return { file: new LogFile(path, whole), entries }
  }

  get path(): string {
    return this.#path
  }

  /** Appends entries, which are on the disk when this resolves. */
  async append(entries: readonly ChannelEntry[]): Promise<void> {
    const lines = Buffer.concat(entries.map(encodeEntry))
    await this.#write(lines).catch(cannot(`write "${this.#path}"`))
    if (this.#bytes === 0) await syncFolder(dirname(this.#path))
    this.#bytes += lines.length
  }

  /** Throws if lines were taken away, or if another process has appended a whole one, which must not be cut off. */
  async #expectAsWritten(handle: FileHandle): Promise<void> {
    const { size } = await handle.stat()
    if (size < this.#bytes)
      throw new SyncError(
        'store-failed',
        `Cannot write the log "${this.#path}": it has ${size} bytes, and had ${this.#bytes} before; restore it from a backup`,
      )
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MOST_LINE_BYTES), 0, MOST_LINE_BYTES, this.#bytes)
    if (!buffer.subarray(0, bytesRead).includes(NEWLINE)) return
    throw new SyncError('store-failed', `Cannot write the log "${this.#path}": another process has written to it`)
  }

  async #write(lines: Uint8Array): Promise<void> {
    // A log that was removed must not begin anew behind its followers.
    const flags = constants.O_RDWR | constants.O_APPEND | (this.#bytes === 0 ? constants.O_CREAT : 0)
    const handle = await open(this.#path, flags, 0o600)
    try {
      await this.#expectAsWritten(handle)
      await handle.truncate(this.#bytes)
      await handle.writeFile(lines)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

/** No entry is longer. */
const MOST_LINE_BYTES = 2 ** 12

const NEWLINE = 10

function damaged(path: string, line: number): SyncError {
  const message = `Cannot read the log "${path}": its line ${line} is damaged; restore the file from a backup, or move it away to begin a new log, which followers refuse unless the channel has a new name`
  return new SyncError('store-failed', message)
}
