import { canonicalJson } from '../../base/canonical-json.ts'
import { RecentCache } from '../../base/recent-cache.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { undefinedIfDamaged } from '../model/sync-error.ts'
import type { GcLeases } from './files/gc-leases.ts'
import type { StateFolder } from './files/state-folder.ts'
import { DigestFiles, sha256Of } from './skills/verified-files.ts'
import { cut, SnapshotParts } from './snapshot-parts.ts'

/**
 * The snapshots, `snapshots/<digest>.json`; the name is the SHA-256 of the bytes. A snapshot with many skills names its
 * parts by digest, and the parts hold the skills. So a commit that changes one skill of thousands writes only what
 * changed.
 */
export class SnapshotStore {
  readonly #heads: DigestFiles
  readonly #partFiles: DigestFiles
  readonly #parts: SnapshotParts
  /** The parts of the snapshots that were written or read recently. */
  readonly #partsOf = new RecentCache<readonly string[]>(MOST_KNOWN)

  constructor(state: StateFolder, claims: GcLeases) {
    const folder = 'snapshots'
    this.#heads = new DigestFiles(state, claims, { folder, extension: '.json', what: 'the snapshot' })
    this.#partFiles = new DigestFiles(state, claims, { folder, extension: '.part', what: 'the part of a snapshot' })
    this.#parts = new SnapshotParts(this.#partFiles)
  }

  /** Writes a snapshot and returns its digest. Garbage collection leaves it alone long enough for a publish. */
  async keep(snapshot: Snapshot, signal: AbortSignal = NEVER): Promise<string> {
    const { skills, ...rest } = snapshot
    const cuts = await cut(skills, signal)
    const parts = cuts.length === 1 ? [] : await this.#parts.keep(cuts, signal)
    const head: Head = parts.length === 0 ? snapshot : { ...rest, parts }
    const bytes = Buffer.from(canonicalJson(head))
    const digest = sha256Of(bytes)
    await this.#heads.keep([{ digest, bytes }], signal)
    this.#partsOf.set(digest, parts)
    return digest
  }

  /** Throws `Damaged` if the snapshot is damaged or gone. */
  async read(digest: string): Promise<Snapshot> {
    const { snapshot, parts } = await this.outline(digest)
    return parts.length === 0 ? snapshot : { ...snapshot, skills: await this.#parts.read(parts) }
  }

  /** `undefined` if the snapshot is damaged or gone. */
  async readWhole(digest: string): Promise<Snapshot | undefined> {
    return this.read(digest).catch(undefinedIfDamaged)
  }

  /**
   * Returns the snapshot without the skills that are in parts, and the digests of those parts. Throws `Damaged` as
   * `read` does.
   */
  async outline(digest: string): Promise<{ readonly snapshot: Snapshot; readonly parts: readonly string[] }> {
    const bytes = await this.#heads.read(digest)
    const { parts = [], skills = [], ...rest }: Head = JSON.parse(bytes.toString('utf8'))
    this.#partsOf.set(digest, parts)
    return { snapshot: { ...rest, skills }, parts }
  }

  /** Returns the skills of one part. Throws `Damaged` if it is damaged or gone. */
  async part(digest: string): Promise<Snapshot['skills']> {
    return this.#parts.one(digest)
  }

  /** True if the snapshot exists and is undamaged. A file that is unchanged since the last check is not read again. */
  async isWhole(digest: string): Promise<boolean> {
    if (!(await this.#heads.isWhole(digest))) return false
    const parts = this.#partsOf.get(digest) ?? (await this.outline(digest).catch(undefinedIfDamaged))?.parts
    if (parts === undefined) return false
    for (const part of parts) {
      // Every check of a source comes here: for 10,000 skills it takes a fifth of a millisecond.
      if (!this.#partFiles.isUntouched(part) && !(await this.#partFiles.isWhole(part))) return false
    }
    return true
  }

  /** Returns the size of the snapshot's own file, without its parts; 0 if there is none. */
  async bytes(digest: string): Promise<number> {
    return this.#heads.bytes(digest)
  }

  /** Returns the size of a part's file; 0 if there is none. */
  async partBytes(digest: string): Promise<number> {
    return this.#partFiles.bytes(digest)
  }

  /** True if a file of that name exists; only `read` verifies it. Parts are not checked. */
  async has(digest: string): Promise<boolean> {
    return this.#heads.has(digest)
  }

  /** Returns the digests of all stored snapshots. */
  async digests(): Promise<string[]> {
    return this.#heads.digests()
  }

  /** Returns the digests of all stored parts, used or not. */
  async partDigests(): Promise<string[]> {
    return this.#partFiles.digests()
  }

  /**
   * Sets a snapshot aside and returns its new path, for the caller to remove; its parts stay. `undefined` if a pull has
   * claimed it or if it does not exist.
   */
  async setAside(digest: string): Promise<string | undefined> {
    this.#partsOf.delete(digest)
    return this.#heads.setAside(digest)
  }

  /** Sets a part aside, with the same result as `setAside`. */
  async setPartAside(digest: string): Promise<string | undefined> {
    return this.#partFiles.setAside(digest)
  }
}

/** The file of a snapshot: either the whole snapshot, or the digests of its parts instead of its skills. */
type Head = Omit<Snapshot, 'skills'> & Partial<Pick<Snapshot, 'skills'>> & { readonly parts?: readonly string[] }

/**
 * The snapshots checked again and again are the newest of each source, so this exceeds the maximum number of sources.
 */
const MOST_KNOWN = 4_096

const NEVER = new AbortController().signal
