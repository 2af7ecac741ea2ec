import { createHash } from 'node:crypto'
import { lstatSync, type BigIntStats } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { RecentCache } from '../../../base/recent-cache.ts'
import { Damaged } from '../../model/sync-error.ts'
import { runOnDisk, cannot, unlessAbsent } from '../files/disk-error.ts'
import { writeTogether } from '../files/fsync.ts'
import type { GcLeases } from '../files/gc-leases.ts'
import { fileNamesIn, type StateFolder } from '../files/state-folder.ts'
import { isDigest } from './stored-path.ts'

/** The kind of files, and the name for one of them in messages. */
export interface DigestFileKind {
  readonly folder: 'snapshots'
  readonly extension: string
  readonly what: string
}

/** Bytes and their SHA-256. */
export interface DigestedBytes {
  readonly digest: string
  readonly bytes: Uint8Array
}

/** The files that are named by the SHA-256 of their bytes. A caller never gets other bytes. */
export class DigestFiles {
  readonly #state: StateFolder
  readonly #claims: GcLeases
  readonly #kind: DigestFileKind
  /** The marks of files at the time when they were written, or read and found intact. */
  readonly #whole = new RecentCache<string>(MOST_MARKS)

  constructor(state: StateFolder, claims: GcLeases, kind: DigestFileKind) {
    this.#state = state
    this.#claims = claims
    this.#kind = kind
  }

  /**
   * Writes the files, whether they exist or not. They are on the disk when this returns, and garbage collection leaves
   * them alone long enough for a publish.
   */
  async keep(files: readonly DigestedBytes[], signal: AbortSignal): Promise<void> {
    await this.claim(files.map(({ digest }) => digest))
    await writeTogether(
      files.map(({ digest, bytes }) => ({ path: this.#fileOf(digest), bytes })),
      signal,
    )
    for (const { digest } of files) await this.#noteWhole(digest)
  }

  /** Claims the files: garbage collection leaves them alone long enough for a publish. */
  async claim(digests: readonly string[]): Promise<void> {
    for (const digest of digests) await this.#claims.claim(digest)
  }

  /** Throws `Damaged` if the file is damaged or gone. */
  async read(digest: string): Promise<Buffer> {
    if (!isDigest(digest)) throw this.#failure(digest, 'that is not a SHA-256')
    // Taken before the read: a file that replaces it meanwhile is checked again.
    const mark = await this.#markOf(digest)
    const bytes = await this.#bytesOf(digest)
    if (bytes === undefined) throw this.#failure(digest, 'it is not in the store')
    if (sha256Of(bytes) !== digest) {
      this.#whole.delete(digest)
      throw this.#failure(digest, 'it is damaged')
    }
    if (mark !== undefined) this.#whole.set(digest, mark)
    return bytes
  }

  /** True if the file exists and is undamaged. A file that is unchanged since the last check is not read again. */
  async isWhole(digest: string): Promise<boolean> {
    const mark = await this.#markOf(digest)
    if (mark === undefined) return false
    if (mark === this.#whole.get(digest)) return true
    const bytes = await this.#bytesOf(digest)
    if (bytes === undefined || sha256Of(bytes) !== digest) return false
    this.#whole.set(digest, mark)
    return true
  }

  /**
   * True if the file is unchanged since it was found intact. Synchronous: handing a hundred calls to another thread
   * takes longer.
   */
  isUntouched(digest: string): boolean {
    const file = this.#fileOf(digest)
    const found = runOnDisk(`look for ${this.#nameOf(digest)}`, () =>
      lstatSync(file, { bigint: true, throwIfNoEntry: false }),
    )
    return found !== undefined && markOf(found) === this.#whole.get(digest)
  }

  /** Returns the size of the file; 0 if there is none. */
  async bytes(digest: string): Promise<number> {
    return Number((await this.#look(digest))?.size ?? 0)
  }

  /** True if a file of that name exists; only `read` verifies it. */
  async has(digest: string): Promise<boolean> {
    return isDigest(digest) && ((await this.#look(digest))?.isFile() ?? false)
  }

  /** Returns the digests of all stored files. */
  async digests(): Promise<string[]> {
    const { folder, extension } = this.#kind
    const names = await fileNamesIn(this.#state.at(folder))
    return names
      .filter((name) => name.endsWith(extension))
      .map((name) => name.slice(0, -extension.length))
      .filter(isDigest)
  }

  /**
   * Sets a file aside and returns its new path, for the caller to remove. `undefined` if a pull has claimed it or if it
   * does not exist.
   */
  async setAside(digest: string): Promise<string | undefined> {
    this.#whole.delete(digest)
    return this.#claims.remove(digest, () => this.#state.setAside(this.#fileOf(digest)))
  }

  /** Records the mark without another hash: the bytes were hashed just now, and a large file takes long. */
  async #noteWhole(digest: string): Promise<void> {
    const mark = await this.#markOf(digest)
    if (mark !== undefined) this.#whole.set(digest, mark)
  }

  async #bytesOf(digest: string): Promise<Buffer | undefined> {
    return unlessAbsent(readFile(this.#fileOf(digest))).catch(cannot(`read ${this.#nameOf(digest)}`))
  }

  async #markOf(digest: string): Promise<string | undefined> {
    const found = await this.#look(digest)
    return found && markOf(found)
  }

  async #look(digest: string): Promise<BigIntStats | undefined> {
    const looked = unlessAbsent(lstat(this.#fileOf(digest), { bigint: true }))
    return looked.catch(cannot(`look for ${this.#nameOf(digest)}`))
  }

  #fileOf(digest: string): string {
    return this.#state.at(this.#kind.folder, `${digest}${this.#kind.extension}`)
  }

  #nameOf(digest: string): string {
    return `${this.#kind.what} ${JSON.stringify(digest.slice(0, 64))}`
  }

  #failure(digest: string, why: string): Damaged {
    return new Damaged(`Cannot read ${this.#nameOf(digest)}: ${why}`)
  }
}

/** Some 6 MB, in a process that only reads and never learns of removals. */
const MOST_MARKS = 16_384

/** Changes if the file is written to or replaced. */
function markOf({ ino, ctimeNs, size }: BigIntStats): string {
  return `${ino} ${ctimeNs} ${size}`
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
