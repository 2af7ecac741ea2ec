import type { Snapshot } from '../model/snapshot.ts'
import { Damaged, undefinedIfDamaged } from '../model/sync-error.ts'
import { putJson, textOf } from './objects/json-object.ts'
import type { ObjectStore } from './objects/object-store.ts'
import { splitIntoParts, SnapshotParts } from './snapshot-parts.ts'

/**
 * The snapshots: each is an object, named by its digest. A snapshot with many skills names its parts by digest, and the
 * parts hold the skills. So a commit that changes one skill of thousands writes only what changed.
 */
export class SnapshotStore {
  readonly #objects: ObjectStore
  readonly #parts: SnapshotParts

  constructor(objects: ObjectStore) {
    this.#objects = objects
    this.#parts = new SnapshotParts(objects)
  }

  /** Writes a snapshot and returns its digest. An aborted signal has it written no more. */
  async keep(snapshot: Snapshot, signal: AbortSignal = NEVER): Promise<string> {
    const { skills, ...rest } = snapshot
    const cuts = await splitIntoParts(skills, signal)
    const parts = cuts.length === 1 ? [] : await this.#parts.keep(cuts, signal)
    const head: SnapshotHead = parts.length === 0 ? snapshot : { ...rest, parts }
    // After an abort, a collection may remove what the snapshot names.
    signal.throwIfAborted()
    return putJson(this.#objects, head, SNAPSHOT_LABEL)
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
    const bytes = await this.#objects.get(digest)
    if (bytes === undefined) throw new Damaged(`Cannot read the snapshot "${digest}": it is not in the store`)
    const { parts = [], skills = [], ...rest } = headIn(bytes, digest)
    return { snapshot: { ...rest, skills }, parts }
  }

  /** Returns the skills of one part. Throws `Damaged` if it is damaged or gone. */
  async part(digest: string): Promise<Snapshot['skills']> {
    return this.#parts.one(digest)
  }

  /** True if the store has the snapshot and its parts. Only `read` verifies them. */
  async isWhole(digest: string): Promise<boolean> {
    if ((await this.#objects.missing([digest])).length > 0) return false
    const parts = (await this.outline(digest).catch(undefinedIfDamaged))?.parts
    return parts !== undefined && (await this.#objects.missing(parts)).length === 0
  }

  /** Returns the digests of all stored snapshots. */
  async digests(): Promise<readonly string[]> {
    return this.#objects.labelled(SNAPSHOT_LABEL)
  }

  /** True if the store has the snapshot. Its parts are not checked. */
  async has(digest: string): Promise<boolean> {
    return (await this.missing([digest])).length === 0
  }

  /** Returns the snapshots that the store lacks. Their parts are not checked. */
  async missing(digests: readonly string[]): Promise<readonly string[]> {
    return this.#objects.missing(digests)
  }
}

/** The object of a snapshot: either the whole snapshot, or the digests of its parts instead of its skills. */
type SnapshotHead = Omit<Snapshot, 'skills'> &
  Partial<Pick<Snapshot, 'skills'>> & { readonly parts?: readonly string[] }

function headIn(bytes: Uint8Array, digest: string): SnapshotHead {
  try {
    const head: SnapshotHead | null = JSON.parse(textOf(bytes))
    if (typeof head === 'object' && head !== null) return head
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new Damaged(`Cannot read the snapshot "${digest}": it is none`)
}

/** The label of the objects that are snapshots. */
export const SNAPSHOT_LABEL = 'snapshot'

const NEVER = new AbortController().signal
