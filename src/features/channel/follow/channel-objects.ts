import { inParallel, WIDTH } from '../../../base/async/parallel.ts'
import type { ChannelPart } from '../../../sync/model/snapshot.ts'
import { SyncError, undefinedIfDamaged } from '../../../sync/model/sync-error.ts'
import { sha256Of } from '../../../sync/store/objects/object-rows.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { changesPath, filesPath, objectPath } from '../content/channel-entry.ts'
import { unpackObjects, MOST_PACKED_BYTES } from '../content/packed-objects.ts'
import type { ChannelPlace } from './channel-place.ts'

/** The part of a store that objects are fetched into. */
export type FetchedObjects = Pick<ObjectStore, 'get' | 'missing' | 'put'>

/**
 * The objects of a channel, fetched into the store: each once, and verified by its digest before it is stored. Only what is
 * wanted is stored, whatever else a server sends with it.
 */
export class ChannelObjects {
  readonly #place: ChannelPlace
  readonly #objects: FetchedObjects
  /** Objects that came packed, and are not wanted yet. */
  readonly #unpacked = new Map<Digest, Uint8Array>()
  /** The sizes of the objects that were verified in this pull. */
  readonly #sizes = new Map<Digest, number>()
  /** True once a packed file could not be read: each further one could take as long to fail. */
  #isPackedLost = false

  constructor(place: ChannelPlace, objects: FetchedObjects) {
    this.#place = place
    this.#objects = objects
  }

  /**
   * Fetches the objects that are new with the entries from `from` until `size`, as far as the channel has them packed.
   * The others are fetched one by one, so a packed file that cannot be read is no failure.
   */
  async fetchChanges(from: number, size: number, signal: AbortSignal): Promise<void> {
    if (from === 0 || size - from > MOST_CHANGES) return
    for (let index = from; index < size; index += 1) {
      const unpacked = await this.#fetchPacked(changesPath(index), MOST_NEW_OBJECTS, signal)
      if (unpacked === undefined) return
      for (const bytes of unpacked) this.#unpacked.set(sha256Of(bytes), bytes)
    }
  }

  /** Stores the files of a list of skills, if the store lacks more than a few and the channel has them packed. */
  async fetchFiles({ digest, skills }: ChannelPart, signal: AbortSignal): Promise<void> {
    const files = new Set(skills?.flatMap((skill) => skill.files.map(({ sha256 }) => sha256)))
    const missing = new Set(await this.#objects.missing(files))
    if (missing.size < LEAST_PACKED) return
    const unpacked = await this.#fetchPacked(filesPath(digest), files.size, signal)
    await this.#put(unpacked?.filter((bytes) => missing.has(sha256Of(bytes))) ?? [])
  }

  async #fetchPacked(path: string, most: number, signal: AbortSignal): Promise<readonly Uint8Array[] | undefined> {
    if (this.#isPackedLost) return undefined
    try {
      // A compressed file is larger than its content by some bytes at most.
      const packed = await this.#place.read(path, MOST_PACKED_BYTES + 1_024, signal)
      return packed && (await unpackObjects(packed, most))
    } catch (error) {
      // One that asks for a pause gets no further request.
      if (!(error instanceof SyncError) || error.code === 'rate-limited') throw error
      this.#isPackedLost = true
      return undefined
    }
  }

  /** Fetches the objects that the store lacks, and files that are damaged in it. Each has `size` bytes; at most `mostBytes` if that is not known. */
  async fetch(wanted: readonly WantedObject[], signal: AbortSignal): Promise<void> {
    const known = new Map(wanted.map((one) => [one.digest, one]))
    const missing = new Set(await this.#objects.missing(known.keys()))
    let waiting: Uint8Array[] = []
    let waitingBytes = 0
    const store = async (): Promise<void> => {
      const stored = waiting
      waiting = []
      waitingBytes = 0
      await this.#put(stored)
    }
    const fetchOne = async ({ digest, size, mostBytes }: WantedObject): Promise<void> => {
      if (!missing.has(digest) && (size === undefined || (await this.#isStored(digest, size)))) return
      const bytes = this.#unpacked.get(digest) ?? (await this.#fetchObject(digest, size ?? mostBytes, signal))
      if (size !== undefined && bytes.length !== size) throw ofOtherSize(digest, bytes.length, size)
      waiting.push(bytes)
      waitingBytes += bytes.length
      if (waitingBytes >= BATCH_BYTES) await store()
    }
    try {
      await inParallel(known.values(), WIDTH, fetchOne, signal)
    } finally {
      // Objects that arrived before a failure need not be fetched again.
      if (waiting.length > 0) await store()
    }
  }

  /** Yields the objects, in this order, once all that the store lacks are fetched. A damaged one is fetched again. */
  async *read(digests: readonly Digest[], mostBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    await this.fetch(
      digests.map((digest) => ({ digest, size: undefined, mostBytes })),
      signal,
    )
    for (const digest of digests)
      yield (await this.#stored(digest)) ?? (await this.#fetchAgain(digest, mostBytes, signal))
  }

  async #fetchAgain(digest: Digest, mostBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = await this.#fetchObject(digest, mostBytes, signal)
    await this.#put([bytes])
    return bytes
  }

  /**
   * False if the object is damaged. Throws if it has another size: it was of another skill perhaps, and its size is not
   * part of its digest.
   */
  async #isStored(digest: Digest, size: number): Promise<boolean> {
    const found = this.#sizes.get(digest) ?? (await this.#stored(digest))?.length
    if (found !== undefined && found !== size) throw ofOtherSize(digest, found, size)
    return found !== undefined
  }

  /** `undefined` if the object is damaged, or is gone. */
  async #stored(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#objects.get(digest).catch(undefinedIfDamaged)
  }

  async #put(objects: readonly Uint8Array[]): Promise<void> {
    const digests = await this.#objects.put(objects)
    for (const [index, digest] of digests.entries()) this.#sizes.set(digest, objects[index]?.length ?? 0)
  }

  async #fetchObject(digest: Digest, mostBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = await this.#place.read(objectPath(digest), mostBytes, signal)
    if (bytes === undefined) throw new LackingObject(digest)
    const found = sha256Of(bytes)
    if (found === digest) return bytes
    throw new SyncError('content-refused', `Cannot take the object ${digest} of the channel: its SHA-256 is ${found}`)
  }
}

/** An object to fetch. */
export interface WantedObject {
  readonly digest: Digest
  /** Its size, if another object declares it. */
  readonly size: number | undefined
  readonly mostBytes: number
}

/** With fewer missing files, most of the packed ones would be of no use. */
const LEAST_PACKED = 8

/** Up to so many new entries are fetched by their packed changes. */
const MOST_CHANGES = 8

/** The most objects of one file of packed changes. */
const MOST_NEW_OBJECTS = 10_000

/** The bytes that one transaction of the store takes. */
const BATCH_BYTES = 2 ** 20

/** A channel lacks an object that it names: it was replaced while it was read, or is not copied yet. */
export class LackingObject extends SyncError {
  constructor(digest: Digest) {
    super('source-unreachable', `Cannot take the object ${digest} of the channel: it is not there`, { fix: LACKING })
  }
}

function ofOtherSize(digest: Digest, found: number, declared: number): SyncError {
  const message = `Cannot take the object ${digest} of the channel: it has ${found} bytes, and ${declared} are declared`
  return new SyncError('content-refused', message)
}

const LACKING = 'Wait for the next pull; if the channel still lacks it, ask the operator of the hub'
