import { inParallel, WIDTH } from '../../../base/parallel.ts'
import { changesPath, filesPath, objectPath } from '../../channel/channel-entry.ts'
import { unpackObjects, MOST_PACKED_BYTES } from '../../channel/packed-objects.ts'
import type { ChannelPart } from '../../model/snapshot.ts'
import { SyncError } from '../../model/sync-error.ts'
import { sha256Of } from '../../store/objects/object-rows.ts'
import type { Digest, ObjectStore } from '../../store/objects/object-store.ts'
import type { ChannelPlace } from './channel-place.ts'

/** The objects of a channel, fetched into the store: each once, and verified by its digest before it is stored. */
export class ChannelObjects {
  readonly #place: ChannelPlace
  readonly #objects: ObjectStore
  readonly #onStored: ((objects: number) => void) | undefined

  constructor(place: ChannelPlace, objects: ObjectStore, onStored?: (objects: number) => void) {
    this.#place = place
    this.#objects = objects
    this.#onStored = onStored
  }

  /**
   * Stores the objects that are new with the entries from `from` until `size`, as far as the channel has them packed.
   * What is missing then is fetched one by one, so a packed file that cannot be read is no failure.
   */
  async bringChanges(from: number, size: number, signal: AbortSignal): Promise<void> {
    if (from === 0 || size - from > MOST_CHANGES) return
    for (let index = from; index < size; index += 1) {
      const packed = await this.#packed(changesPath(index), signal)
      if (packed === undefined) return
      await this.#put(await unpackObjects(packed))
    }
  }

  /** Stores the files of a list of skills, if the store lacks more than a few and the channel has them packed. */
  async bringFiles({ digest, skills }: ChannelPart, signal: AbortSignal): Promise<void> {
    const files = new Set(skills?.flatMap((skill) => skill.files.map(({ sha256 }) => sha256)))
    if ((await this.#objects.missing(files)).length < LEAST_PACKED) return
    const packed = await this.#packed(filesPath(digest), signal)
    if (packed !== undefined) await this.#put(await unpackObjects(packed))
  }

  async #packed(path: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    try {
      // A compressed file is larger than its content by some bytes at most.
      return await this.#place.read(path, MOST_PACKED_BYTES + 1_024, signal)
    } catch (error) {
      // Some servers answer 403 for a file that they do not have. One that asks for a pause gets no further request.
      if (error instanceof SyncError && error.code !== 'rate-limited') return undefined
      throw error
    }
  }

  /** Fetches the objects that the store lacks. `mostBytes` bounds each of them. */
  async bring(
    wanted: readonly { readonly digest: Digest; readonly mostBytes: number }[],
    signal: AbortSignal,
  ): Promise<void> {
    const bounds = new Map(wanted.map(({ digest, mostBytes }) => [digest, mostBytes]))
    const missing = await this.#objects.missing(bounds.keys())
    let waiting: Uint8Array[] = []
    let waitingBytes = 0
    const store = async (): Promise<void> => {
      const stored = waiting
      waiting = []
      waitingBytes = 0
      await this.#put(stored)
    }
    const bringOne = async (digest: Digest): Promise<void> => {
      const bytes = await this.#fetch(digest, bounds.get(digest) ?? 0, signal)
      waiting.push(bytes)
      waitingBytes += bytes.length
      if (waitingBytes >= BATCH_BYTES) await store()
    }
    try {
      await inParallel(missing, WIDTH, bringOne, signal)
    } finally {
      // What arrived before a failure need not be fetched again.
      if (waiting.length > 0) await store()
    }
  }

  /** Yields the objects, in this order, once all that the store lacks are fetched. */
  async *read(digests: readonly Digest[], mostBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    await this.bring(
      digests.map((digest) => ({ digest, mostBytes })),
      signal,
    )
    for (const digest of digests) {
      const bytes = await this.#objects.get(digest)
      if (bytes === undefined) throw lacking(digest)
      yield bytes
    }
  }

  async #put(objects: readonly Uint8Array[]): Promise<void> {
    await this.#objects.put(objects)
    this.#onStored?.(objects.length)
  }

  async #fetch(digest: Digest, mostBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = await this.#place.read(objectPath(digest), mostBytes, signal)
    if (bytes === undefined) throw lacking(digest)
    const found = sha256Of(bytes)
    if (found === digest) return bytes
    throw new SyncError('content-refused', `Cannot take the object ${digest} of the channel: its SHA-256 is ${found}`)
  }
}

/** With fewer missing files, most of the packed ones would be of no use. */
const LEAST_PACKED = 8

/** Up to so many new entries are fetched by their packed changes. */
const MOST_CHANGES = 8

/** The bytes that one transaction of the store takes. */
const BATCH_BYTES = 2 ** 20

/** It may have been removed while it was read, or not have been copied yet. */
function lacking(digest: Digest): SyncError {
  return new SyncError('source-unreachable', `Cannot take the object ${digest} of the channel: it is not there`)
}
