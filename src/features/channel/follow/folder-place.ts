import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { ASK_HUB, diskFix, isSystemError, SyncError } from '../../../sync/model/sync-error.ts'
import { isDiskError } from '../../../sync/store/files/disk-error.ts'
import { CHECKPOINT_PATH } from '../content/channel-entry.ts'
import { MOST_CHECKPOINT_BYTES } from './channel-place.ts'
import type { ChannelPlace, KnownCheckpoint, ServedCheckpoint } from './channel-place.ts'

/** A channel in a folder of this machine: on a disk that is shared, or that was carried here. */
export class FolderPlace implements ChannelPlace {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async checkpoint({ etag }: KnownCheckpoint, signal: AbortSignal): Promise<ServedCheckpoint> {
    const bytes = await this.read(CHECKPOINT_PATH, MOST_CHECKPOINT_BYTES, signal)
    if (bytes === undefined)
      throw new SyncError('repository-not-found', `Cannot read the channel "${this.#path}": it has no checkpoint`)
    const note = Buffer.from(bytes).toString('utf8')
    // The note is its own mark: it is short, and reading it is all the cost.
    return note === etag ? { kind: 'unchanged' } : { kind: 'checkpoint', note, etag: note }
  }

  async report(): Promise<boolean> {
    return true
  }

  async read(path: string, mostBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    signal.throwIfAborted()
    const file = join(this.#path, path)
    try {
      // Opening a named pipe would wait for its writer.
      await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
      const stats = await handle.stat()
      if (!stats.isFile())
        throw new SyncError('source-unreachable', `Cannot read "${file}": not a file`, { fix: diskFix('EISDIR') })
      const { size } = stats
      if (size > mostBytes)
        throw new SyncError('limit-exceeded', `Cannot read "${file}": it has ${size} bytes, over ${mostBytes}`, {
          fix: ASK_HUB,
        })
      const bytes = Buffer.alloc(size)
      const { bytesRead } = await handle.read(bytes, 0, size, 0)
      return bytes.subarray(0, bytesRead)
    } catch (cause) {
      if (isDiskError(cause, 'ENOENT', 'ENOTDIR')) return undefined
      if (!isSystemError(cause)) throw cause
      throw new SyncError('source-unreachable', `Cannot read "${file}": ${String(cause.code)}`, { cause })
    }
  }
}
