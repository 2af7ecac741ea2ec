import { createHash } from 'node:crypto'
import { lstatSync, type BigIntStats } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { Damaged } from '../../model/sync-error.ts'
import type { Claims } from '../files/gc-leases.ts'
import { attempted, cannot, unlessAbsent } from '../files/disk-error.ts'
import { writeTogether } from '../files/fsync.ts'
import { Lately } from '../../../base/lru.ts'
import { namesIn, type StateFolder } from '../files/state-folder.ts'
import { isDigest } from './stored-path.ts'

/** Which files they are, and what one of them is called where a person is told of it. */
export interface DigestFileKind {
  readonly folder: 'snapshots'
  readonly extension: string
  readonly what: string
}

/** Bytes, and their SHA-256. */
export interface DigestedBytes {
  readonly digest: string
  readonly bytes: Uint8Array
}

/** Files each of which is called by the SHA-256 of its bytes. Nobody ever gets other bytes than those. */
export class DigestFiles {
  readonly #state: StateFolder
  readonly #claims: Claims
  readonly #kind: DigestFileKind
  /** What those that were written, or read and found whole, were like then. */
  readonly #whole = new Lately<string>(MOST_MARKS)

  constructor(state: StateFolder, claims: Claims, kind: DigestFileKind) {
    this.#state = state
    this.#claims = claims
    this.#kind = kind
  }

  /** Writes them, whatever is there. They are on the disk when this returns, and stay for long enough to be published. */
  async keep(files: readonly DigestedBytes[], signal: AbortSignal): Promise<void> {
    await this.claim(files.map(({ digest }) => digest))
    await writeTogether(
      files.map(({ digest, bytes }) => ({ path: this.#fileOf(digest), bytes })),
      signal,
    )
    for (const { digest } of files) await this.#noteWhole(digest)
  }

  /** From now on they stay for long enough to be published. */
  async claim(digests: readonly string[]): Promise<void> {
    for (const digest of digests) await this.#claims.claim(digest)
  }

  /** Throws `Damaged` for one that is, or that is gone. */
  async read(digest: string): Promise<Buffer> {
    if (!isDigest(digest)) throw this.#failed(digest, 'that is not a SHA-256')
    // Before it is read: what is put in its place meanwhile is looked at again.
    const mark = await this.#markOf(digest)
    const bytes = await this.#bytesOf(digest)
    if (bytes === undefined) throw this.#failed(digest, 'it is not in the store')
    if (sha256Of(bytes) !== digest) {
      this.#whole.delete(digest)
      throw this.#failed(digest, 'it is damaged')
    }
    if (mark !== undefined) this.#whole.set(digest, mark)
    return bytes
  }

  /** Whether it is here, undamaged. One that nobody has touched since it was found so is not read again. */
  async isWhole(digest: string): Promise<boolean> {
    const mark = await this.#markOf(digest)
    if (mark === undefined) return false
    if (mark === this.#whole.get(digest)) return true
    const bytes = await this.#bytesOf(digest)
    if (bytes === undefined || sha256Of(bytes) !== digest) return false
    this.#whole.set(digest, mark)
    return true
  }

  /** Whether nobody has touched it since it was found whole. Done at once: to hand a hundred to another thread takes longer. */
  isUntouched(digest: string): boolean {
    const file = this.#fileOf(digest)
    const found = attempted(`look for ${this.#nameOf(digest)}`, () =>
      lstatSync(file, { bigint: true, throwIfNoEntry: false }),
    )
    return found !== undefined && markOf(found) === this.#whole.get(digest)
  }

  /** How large the file is; 0 where there is none. */
  async bytes(digest: string): Promise<number> {
    return Number((await this.#look(digest))?.size ?? 0)
  }

  /** Whether there is a file of that name; only `read` tells whether it is whole. */
  async has(digest: string): Promise<boolean> {
    return isDigest(digest) && ((await this.#look(digest))?.isFile() ?? false)
  }

  /** Of all that are here. */
  async digests(): Promise<string[]> {
    const { folder, extension } = this.#kind
    const names = await namesIn(this.#state.at(folder))
    return names
      .filter((name) => name.endsWith(extension))
      .map((name) => name.slice(0, -extension.length))
      .filter(isDigest)
  }

  /** Takes one out and says where it lies now, for the caller to remove. Undefined where a pull may want it. */
  async setAside(digest: string): Promise<string | undefined> {
    this.#whole.delete(digest)
    return this.#claims.remove(digest, () => this.#state.setAside(this.#fileOf(digest)))
  }

  /** It takes long to hash a large one, and it has just been. */
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

  #failed(digest: string, why: string): Damaged {
    return new Damaged(`Cannot read ${this.#nameOf(digest)}: ${why}`)
  }
}

/** Half a dozen megabytes, in a process that only follows and never hears of what is removed. */
const MOST_MARKS = 16_384

/** Another whenever the file is written to or replaced. */
function markOf({ ino, ctimeNs, size }: BigIntStats): string {
  return `${ino} ${ctimeNs} ${size}`
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
