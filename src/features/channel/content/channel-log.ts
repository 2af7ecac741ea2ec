import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { encodeEntry, parseEntry } from '../../../sync/store/channel-entry.ts'
import type { ChannelEntry, EntryProof } from '../../../sync/store/channel-entry.ts'
import { syncFolder } from '../../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { signCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import { LogHashes } from '../../../sync/transparency-log/log-hashes.ts'
import { consistencyProof, inclusionProof, isSameHash, treeRoot } from '../../../sync/transparency-log/merkle-tree.ts'
import type { NoteSigner } from '../../../sync/transparency-log/signed-note.ts'
import { bundleOf, entriesPath, TILE_WIDTH, tileBytes } from '../../../sync/transparency-log/tiles.ts'
import type { Tile } from '../../../sync/transparency-log/tiles.ts'

/** The log of a channel, which this process appends to and serves. */
export class ChannelLog {
  readonly #file: LogFile
  readonly #entries: ChannelEntry[] = []
  readonly #hashes = new LogHashes()
  /** The bundle that was read last: after a change all followers ask for the same one. It never changes. */
  #bundle: { readonly path: string; readonly bytes: Uint8Array } | undefined

  private constructor(file: LogFile, entries: readonly ChannelEntry[]) {
    this.#file = file
    for (const entry of entries) this.#add(entry)
  }

  static async open(path: string): Promise<ChannelLog> {
    const { file, entries } = await LogFile.open(path)
    return new ChannelLog(file, entries)
  }

  get size(): number {
    return this.#entries.length
  }

  /** True if the log begins with all entries of the other one. */
  async continues(other: ChannelLog): Promise<boolean> {
    const { size } = other
    return size <= this.size && isSameHash(await this.rootAt(size), await other.rootAt(size))
  }

  get newest(): ChannelEntry | undefined {
    return this.#entries.at(-1)
  }

  /** The entries from this index on, oldest first. */
  since(index: number): readonly ChannelEntry[] {
    return this.#entries.slice(index)
  }

  /** The entry at this index, from 0. */
  at(index: number): ChannelEntry | undefined {
    return this.#entries[index]
  }

  /** Appends an entry. It must not be signed by any caller before this resolves. */
  async append(entry: ChannelEntry): Promise<void> {
    await this.#file.append([entry])
    this.#add(entry)
  }

  /** The lines of the entries from this index on, without line breaks. */
  lines(index: number): readonly string[] {
    return this.since(index).map(lineOf)
  }

  /**
   * Takes over lines that another process has appended to this log, from this index on. Those that are here already must
   * be the same; nothing is ever replaced. Throws `store-failed`, and takes none of them, if a line differs.
   */
  async takeOver(lines: readonly string[], index: number): Promise<void> {
    const known = this.lines(index).slice(0, lines.length)
    const other = known.findIndex((line, at) => line !== lines[at])
    if (other !== -1) throw this.#refusal(`its line ${index + other + 1} is another one than that of the database`)
    const added = lines.slice(known.length).map((line, at) => {
      const entry = parseEntry(Buffer.from(line))
      if (entry !== undefined && lineOf(entry) === line) return entry
      throw this.#refusal(`the database has no entry at line ${this.size + at + 1}`)
    })
    if (added.length === 0) return
    await this.#file.append(added)
    for (const entry of added) this.#add(entry)
  }

  #refusal(why: string): SyncError {
    const message = `Cannot use the log "${this.#file.path}": ${why}; nothing is published from it. If the log of the database is the right one, stop this process, move the file away and start again`
    return new SyncError('store-failed', message)
  }

  /** The signed head of the log, as its followers get it. */
  async checkpoint(origin: string, signers: readonly NoteSigner[]): Promise<string> {
    const { size } = this
    return signCheckpoint({ origin, size, root: await this.rootAt(size) }, signers)
  }

  /** The proof of the newest of the first `size` entries, by a checkpoint of them, with the bytes of the entry. */
  async prove(size: number, checkpoint: string): Promise<EntryProof> {
    const index = size - 1
    const entry = this.#entries[index]
    if (entry === undefined) throw new RangeError(`A log of ${this.size} entries has no entry ${index}`)
    const hashes = await inclusionProof(index, size, this.#hashes.read)
    return { index, hashes, checkpoint, extra: encodeEntry(entry) }
  }

  /** The root of the first `size` entries. */
  async rootAt(size: number): Promise<Uint8Array> {
    return treeRoot(size, this.#hashes.read)
  }

  /** The proof that the first `size` entries begin with the first `from`. */
  async proof(from: number, size: number): Promise<readonly Uint8Array[]> {
    return consistencyProof(from, size, this.#hashes.read)
  }

  /** True if the first `size` entries of the log have all hashes of the tile, partial or full. */
  hasTile({ level, index, width }: Tile, size: number): boolean {
    return (index * TILE_WIDTH + width) * TILE_WIDTH ** level <= Math.min(size, this.size)
  }

  async tile(tile: Tile): Promise<Uint8Array> {
    return tileBytes(tile, this.#hashes.read)
  }

  /** The bundle of the entries whose hashes are the tile of level 0 with this index and width. */
  entries({ index, width }: Pick<Tile, 'index' | 'width'>): Uint8Array {
    const path = entriesPath({ index, width })
    if (this.#bundle?.path === path) return this.#bundle.bytes
    const bytes = bundleOf(this.#entries.slice(index * TILE_WIDTH, index * TILE_WIDTH + width).map(encodeEntry))
    this.#bundle = { path, bytes }
    return bytes
  }

  #add(entry: ChannelEntry): void {
    this.#entries.push(entry)
    this.#hashes.append(encodeEntry(entry))
  }
}

function lineOf(entry: ChannelEntry): string {
  return encodeEntry(entry).toString().slice(0, -1)
}

/**
 * The entries of a log, one line each, in a file that only grows. It is apart from the database, which can be lost and
 * filled again: followers refuse a log that is shorter than the one that they have seen.
 */
class LogFile {
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
