import { join } from 'node:path'
import { Malformed } from '../../base/malformed.ts'
import type { ObjectId } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import type { TakenBlob } from '../model/tree.ts'
import { objectIdOf, type GitObject } from '../upstream/objects/git-object.ts'
import type { FetchLimits, Relation } from '../upstream/upstream.ts'
import { DiskPacks } from './disk-packs.ts'
import { readRelation } from './objects/ancestry.ts'
import { openLoose } from './objects/loose-object.ts'
import {
  ABSENT,
  FSCK,
  objectBytesOf,
  tooLarge,
  type KeepBlob,
  type LargeObject,
  type ObjectSource,
} from './objects/object-source.ts'

/** The objects of a local repository, read in place. The size of each is known before it is read. */
export class DiskObjects implements ObjectSource {
  readonly #folder: string
  readonly #blobBytes: number
  readonly #objectBytes: number
  readonly #packs: DiskPacks

  constructor(folder: string, limits: FetchLimits) {
    this.#folder = folder
    this.#blobBytes = limits.blobBytes
    this.#objectBytes = objectBytesOf(limits)
    this.#packs = new DiskPacks(join(folder, 'objects', 'pack'), Math.max(this.#blobBytes, this.#objectBytes))
  }

  async open(): Promise<void> {}

  async read(id: ObjectId): Promise<GitObject | LargeObject | undefined> {
    return this.#read(id, this.#objectBytes)
  }

  async relation(from: ObjectId, to: ObjectId): Promise<Relation> {
    return readRelation(from, to, (id) => this.read(id))
  }

  async take(blobs: readonly ObjectId[], keep: KeepBlob): Promise<ReadonlyMap<ObjectId, TakenBlob>> {
    const taken = new Map<ObjectId, TakenBlob>()
    for (const id of blobs) {
      const object = this.#read(id, this.#blobBytes)
      if (object?.type === 'too-large') taken.set(id, tooLarge(object.size))
      else taken.set(id, object?.type === 'blob' ? keep(id, object.bytes) : ABSENT)
    }
    return taken
  }

  [Symbol.dispose](): void {
    this.#packs[Symbol.dispose]()
  }

  #read(id: ObjectId, mostBytes: number): GitObject | LargeObject | undefined {
    try {
      const object = this.#looseObject(id, mostBytes) ?? this.#packs.read(id, mostBytes)
      if (object === undefined || object.type === 'too-large' || objectIdOf(object, 'sha1') === id) return object
    } catch (cause) {
      throw this.#failure(id, cause)
    }
    throw new SyncError('content-refused', `Cannot read ${id} of "${this.#folder}": the object is another`, {
      fix: FSCK,
    })
  }

  #looseObject(id: ObjectId, mostBytes: number): GitObject | LargeObject | undefined {
    using loose = openLoose(join(this.#folder, 'objects', id.slice(0, 2), id.slice(2)))
    if (loose === undefined) return undefined
    return loose.size > mostBytes ? { type: 'too-large', size: loose.size } : loose.read()
  }

  /** Converts an error. A temporary disk error is not damage: the object may be intact. */
  #failure(id: ObjectId, cause: unknown): SyncError {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
    const isOfDisk = cause instanceof Error && 'syscall' in cause
    if (isOfDisk && code !== undefined)
      return new SyncError('source-unreachable', `Cannot read ${id} of "${this.#folder}": ${code}`, { cause })
    if (!(cause instanceof Malformed) && code?.startsWith('Z_') !== true) throw cause
    return new SyncError('content-refused', `Cannot read ${id} of "${this.#folder}": the object is damaged`, {
      cause,
      fix: FSCK,
    })
  }
}
