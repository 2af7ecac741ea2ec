import { createHash } from 'node:crypto'
import { lstat, readFile } from 'node:fs/promises'
import type { Snapshot } from '../model/snapshot.ts'
import { Damaged } from '../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import type { Claims } from './claims.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'
import { SnapshotText } from './snapshot-text.ts'
import { namesIn, type StateFolder } from './state-folder.ts'
import { isDigest } from './stored-path.ts'

/** Snapshots, each in a file whose name is the SHA-256 of its bytes: `snapshots/<digest>.json`. */
export class SnapshotStore {
  readonly #state: StateFolder
  readonly #claims: Claims
  /** What the files of some were like when they were written, or read and found whole. */
  readonly #whole = new Map<string, string>()
  readonly #text = new SnapshotText()

  constructor(state: StateFolder, claims: Claims) {
    this.#state = state
    this.#claims = claims
  }

  /** Writes it and gives its digest. It stays for long enough to be published. */
  async keep(snapshot: Snapshot, signal: AbortSignal = NEVER): Promise<string> {
    const { digest, bytes } = await this.#text.write(snapshot, (earlier) => this.#bytesIfAny(earlier), signal)
    await this.#claims.claim(digest)
    await writeWhole(this.#fileOf(digest), bytes)
    await this.#noteWhole(digest)
    return digest
  }

  /** Throws `Damaged` for one that is, or that is gone. */
  async read(digest: string): Promise<Snapshot> {
    if (!isDigest(digest)) throw failed(digest, 'that is not a SHA-256')
    const bytes = await unlessAbsent(readFile(this.#fileOf(digest))).catch(cannot(`read the snapshot "${digest}"`))
    if (bytes === undefined) throw failed(digest, 'it is not in the store')
    if (sha256(bytes) !== digest) throw failed(digest, 'it is damaged')
    const snapshot: Snapshot = JSON.parse(bytes.toString('utf8'))
    return snapshot
  }

  /** Undefined for one that is damaged or gone. */
  async readWhole(digest: string): Promise<Snapshot | undefined> {
    return this.read(digest).catch((error: unknown) => {
      if (error instanceof Damaged) return undefined
      throw error
    })
  }

  /** Whether it is here, undamaged. One that nobody has touched since it was found so is not read again. */
  async isWhole(digest: string): Promise<boolean> {
    const mark = await this.#markOf(digest)
    if (mark === undefined) return false
    if (mark === this.#whole.get(digest)) return true
    const bytes = await unlessAbsent(readFile(this.#fileOf(digest))).catch(cannot(`read the snapshot "${digest}"`))
    if (bytes === undefined || sha256(bytes) !== digest) return false
    this.#whole.set(digest, mark)
    return true
  }

  /** What lies in the file now; undefined where that cannot be had, whatever the reason. */
  async #bytesIfAny(digest: string): Promise<Buffer | undefined> {
    return readFile(this.#fileOf(digest)).catch((error: unknown) => {
      if (isDiskError(error)) return undefined
      throw error
    })
  }

  /** How large the file is; 0 where there is none. */
  async bytes(digest: string): Promise<number> {
    const found = await unlessAbsent(lstat(this.#fileOf(digest))).catch(cannot(`look for the snapshot "${digest}"`))
    return found?.size ?? 0
  }

  /** Whether there is a file of that name; only `read` tells whether it is whole. */
  async has(digest: string): Promise<boolean> {
    if (!isDigest(digest)) return false
    const found = await unlessAbsent(lstat(this.#fileOf(digest))).catch(cannot(`look for the snapshot "${digest}"`))
    return found?.isFile() ?? false
  }

  /** Of all that are here. */
  async digests(): Promise<string[]> {
    const names = await namesIn(this.#state.at('snapshots'))
    return names
      .filter((name) => name.endsWith('.json'))
      .map((name) => name.slice(0, -'.json'.length))
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

  /** Another whenever the file is written to or replaced. Undefined where there is none. */
  async #markOf(digest: string): Promise<string | undefined> {
    const looked = unlessAbsent(lstat(this.#fileOf(digest), { bigint: true }))
    const found = await looked.catch(cannot(`look for the snapshot "${digest}"`))
    return found && `${found.ino} ${found.ctimeNs} ${found.size}`
  }

  #fileOf(digest: string): string {
    return this.#state.at('snapshots', `${digest}.json`)
  }
}

const NEVER = new AbortController().signal

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function failed(digest: string, why: string): Damaged {
  return new Damaged(`Cannot read the snapshot ${JSON.stringify(digest.slice(0, 64))}: ${why}`)
}
