import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ObjectId } from '../model/revision.ts'
import type { GitObject } from '../upstream/objects/git-object.ts'
import type { LargeObject } from './objects/object-source.ts'
import { PackFile } from './objects/pack-file.ts'
import { PackIndex } from './objects/pack-index.ts'
import { PackObjects } from './objects/pack-objects.ts'

/** The packs of a local repository, read object by object. */
export class DiskPacks implements Disposable {
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
