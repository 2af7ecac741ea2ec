import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Malformed } from '../../base/malformed.ts'
import type { ObjectId } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import type { TakenBlob } from '../model/tree.ts'
import { objectIdOf } from '../upstream/objects/git-object.ts'
import type { GitObject } from '../upstream/objects/git-object.ts'
import type { FetchLimits, Relation } from '../upstream/upstream.ts'
import { readRelation } from './objects/ancestry.ts'
import { openLoose } from './objects/loose-object.ts'
import { ABSENT, FSCK, objectBytesOf, tooLarge } from './objects/object-source.ts'
import type { KeepBlob, LargeObject, ObjectSource } from './objects/object-source.ts'
import { PackFile } from './objects/pack-file.ts'
import { PackIndex } from './objects/pack-index.ts'
import { PackObjects } from './objects/pack-objects.ts'

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

/** The packs of a local repository, read object by object. */
class DiskPacks implements Disposable {
  readonly #folder: string
  readonly #objectBytes: number
  /** The indexes by pack name without extension. */
  readonly #indexes = new Map<string, PackIndex>()
  /** The recently read packs, youngest last; each holds a window of its file. */
  readonly #open = new Map<string, OpenPack>()

  /** No object over `objectBytes` is held. */
  constructor(folder: string, objectBytes: number) {
    this.#folder = folder
    this.#objectBytes = objectBytes
  }

  /** Returns an object; `undefined` if no pack has it. Of an object over `mostBytes` only the header is read. */
  read(id: ObjectId, mostBytes: number): GitObject | LargeObject | undefined {
    const place = this.#find(id) ?? (this.#lookAgain() ? this.#find(id) : undefined)
    if (place === undefined) return undefined
    const { objects } = this.#packOf(place.name, place.index)
    const size = objects.sizeAt(place.offset)
    if (size > mostBytes) return { type: 'too-large', size }
    return objects.resolve(place.offset) ?? { type: 'too-large', size: undefined }
  }

  [Symbol.dispose](): void {
    for (const { file } of this.#open.values()) file[Symbol.dispose]()
    for (const index of this.#indexes.values()) index[Symbol.dispose]()
    this.#open.clear()
    this.#indexes.clear()
  }

  #find(id: ObjectId): { readonly name: string; readonly index: PackIndex; readonly offset: number } | undefined {
    for (const [name, index] of this.#indexes) {
      const offset = index.offsetOf(id)
      if (offset !== undefined) return { name, index, offset }
    }
    return undefined
  }

  /** Opens new packs and returns true if there are any: git may have repacked the repository. */
  #lookAgain(): boolean {
    const names = namesIn(this.#folder).filter((name) => !this.#indexes.has(name))
    for (const name of names) this.#indexes.set(name, new PackIndex(join(this.#folder, `${name}.idx`)))
    return names.length > 0
  }

  #packOf(name: string, index: PackIndex): OpenPack {
    const known = this.#open.get(name)
    this.#open.delete(name)
    const pack = known ?? this.#openPack(name, index)
    this.#open.set(name, pack)
    for (const [oldest, { file }] of this.#open) {
      if (this.#open.size <= MOST_OPEN) break
      this.#open.delete(oldest)
      file[Symbol.dispose]()
    }
    return pack
  }

  #openPack(name: string, index: PackIndex): OpenPack {
    const file = new PackFile(join(this.#folder, `${name}.pack`), 'sha1')
    return { file, objects: new PackObjects(file, this.#objectBytes, (id) => index.offsetOf(id)) }
  }
}

interface OpenPack {
  readonly file: PackFile
  readonly objects: PackObjects
}

/** Each has a window, and a cache of at most some 32 MiB. */
const MOST_OPEN = 4

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => (name.endsWith('.idx') ? [name.slice(0, -4)] : []))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return []
    throw cause
  }
}
