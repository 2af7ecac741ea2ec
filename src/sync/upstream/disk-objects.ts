import fs from 'node:fs'
import { readObject } from 'isomorphic-git'
import type { ObjectId } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import type { Taken } from '../model/tree.ts'
import { readRelation } from './ancestry.ts'
import { idOf, type GitObject } from './git-object.ts'
import type { KeepBlob, Objects } from './objects.ts'
import type { Relation } from './upstream.ts'

/** The objects of a repository on this disk, read where they lie. */
export class DiskObjects implements Objects {
  readonly #folder: string
  /** Holds the packs that were read, for as long as this is held. */
  readonly #cache = {}

  constructor(folder: string) {
    this.#folder = folder
  }

  async open(): Promise<void> {}

  async read(id: ObjectId): Promise<GitObject | undefined> {
    const options = { fs, gitdir: this.#folder, oid: id, format: 'content', cache: this.#cache } as const
    const found = await readObject(options).catch((cause: unknown) => {
      if (cause instanceof Error && 'code' in cause && cause.code === 'NotFoundError') return undefined
      throw new SyncError('content-refused', `Cannot read ${id} of "${this.#folder}": the object is damaged`, { cause })
    })
    if (found?.format !== 'content') return undefined
    const object = { type: found.type, bytes: Buffer.from(found.object) }
    if (idOf(object, 'sha1') === id) return object
    throw new SyncError('content-refused', `Cannot read ${id} of "${this.#folder}": the object is another`)
  }

  async relation(from: ObjectId, to: ObjectId): Promise<Relation> {
    return readRelation(from, to, (id) => this.read(id))
  }

  async take(blobs: readonly ObjectId[], keep: KeepBlob): Promise<ReadonlyMap<ObjectId, Taken>> {
    const taken = new Map<ObjectId, Taken>()
    for (const id of blobs) {
      const object = await this.read(id)
      taken.set(id, object?.type === 'blob' ? keep(object.bytes) : { kind: 'refused', reason: 'absent' })
    }
    return taken
  }
}
