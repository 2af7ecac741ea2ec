import type { Snapshot } from '../model/snapshot.ts'
import { undefinedIfDamaged } from '../model/sync-error.ts'
import type { Claims } from './files/gc-leases.ts'
import { DigestFiles, sha256Of } from './skills/verified-files.ts'
import { canonicalJson } from '../../base/canonical-json.ts'
import { Lately } from '../../base/lru.ts'
import { cut, SnapshotParts } from './snapshot-parts.ts'
import type { StateFolder } from './files/state-folder.ts'

/**
 * Snapshots, each in a file whose name is the SHA-256 of its bytes: `snapshots/<digest>.json`. Where it has many skills, that file
 * names parts by their digests, and they have the skills: so a commit that changes one of thousands writes what it changed.
 */
export class SnapshotStore {
  readonly #heads: DigestFiles
  readonly #partFiles: DigestFiles
  readonly #parts: SnapshotParts
  /** The parts of those that were written or read. */
  readonly #partsOf = new Lately<readonly string[]>(MOST_KNOWN)

  constructor(state: StateFolder, claims: Claims) {
    const folder = 'snapshots'
    this.#heads = new DigestFiles(state, claims, { folder, extension: '.json', what: 'the snapshot' })
    this.#partFiles = new DigestFiles(state, claims, { folder, extension: '.part', what: 'the part of a snapshot' })
    this.#parts = new SnapshotParts(this.#partFiles)
  }

  /** Writes it and gives its digest. It stays for long enough to be published. */
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

  /** Throws `Damaged` for one that is, or that is gone. */
  async read(digest: string): Promise<Snapshot> {
    const { snapshot, parts } = await this.outline(digest)
    return parts.length === 0 ? snapshot : { ...snapshot, skills: await this.#parts.read(parts) }
  }

  /** Undefined for one that is damaged or gone. */
  async readWhole(digest: string): Promise<Snapshot | undefined> {
    return this.read(digest).catch(undefinedIfDamaged)
  }

  /** What it has but for the skills that are in parts, and which parts those are. Throws `Damaged` as `read` does. */
  async outline(digest: string): Promise<{ readonly snapshot: Snapshot; readonly parts: readonly string[] }> {
    const bytes = await this.#heads.read(digest)
    const { parts = [], skills = [], ...rest }: Head = JSON.parse(bytes.toString('utf8'))
    this.#partsOf.set(digest, parts)
    return { snapshot: { ...rest, skills }, parts }
  }

  /** The skills of one part. Throws `Damaged` for one that is, or that is gone. */
  async part(digest: string): Promise<Snapshot['skills']> {
    return this.#parts.one(digest)
  }

  /** Whether it is here, undamaged. What nobody has touched since it was found so is not read again. */
  async isWhole(digest: string): Promise<boolean> {
    if (!(await this.#heads.isWhole(digest))) return false
    const parts = this.#partsOf.get(digest) ?? (await this.outline(digest).catch(undefinedIfDamaged))?.parts
    if (parts === undefined) return false
    for (const part of parts) {
      // Each look at a source comes here: of 10,000 skills it takes a fifth of a millisecond.
      if (!this.#partFiles.isUntouched(part) && !(await this.#partFiles.isWhole(part))) return false
    }
    return true
  }

  /** How large its own file is, without those of its parts; 0 where there is none. */
  async bytes(digest: string): Promise<number> {
    return this.#heads.bytes(digest)
  }

  /** How large the file of a part is; 0 where there is none. */
  async partBytes(digest: string): Promise<number> {
    return this.#partFiles.bytes(digest)
  }

  /** Whether there is a file of that name; only `read` tells whether it is whole. Of its parts nothing is asked. */
  async has(digest: string): Promise<boolean> {
    return this.#heads.has(digest)
  }

  /** Of all that are here. */
  async digests(): Promise<string[]> {
    return this.#heads.digests()
  }

  /** Of all parts that are here, whoever names them. */
  async partDigests(): Promise<string[]> {
    return this.#partFiles.digests()
  }

  /** Takes one out and says where it lies now, for the caller to remove; its parts stay. Undefined where a pull may want it. */
  async setAside(digest: string): Promise<string | undefined> {
    this.#partsOf.delete(digest)
    return this.#heads.setAside(digest)
  }

  /** The same for a part. */
  async setPartAside(digest: string): Promise<string | undefined> {
    return this.#partFiles.setAside(digest)
  }
}

/** What is in the file of a snapshot: all of it, or all but its skills and the digests of the parts that have those. */
type Head = Omit<Snapshot, 'skills'> & Partial<Pick<Snapshot, 'skills'>> & { readonly parts?: readonly string[] }

/** Those that are looked at again and again are the newest of each source: as many as there may be sources, and more. */
const MOST_KNOWN = 4_096

const NEVER = new AbortController().signal
