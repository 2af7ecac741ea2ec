import { createHash, type Hash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { Malformed } from '../../../base/malformed.ts'
import type { ObjectFormat, ObjectId } from '../../model/revision.ts'
import { isSystemError, SyncError } from '../../model/sync-error.ts'
import { createObjectHash, ID_BYTES, objectIdOf } from '../../upstream/objects/git-object.ts'
import type { GitObject } from '../../upstream/objects/git-object.ts'
import { OBJECT_HEADER_BYTES, PackFile } from './pack-file.ts'
import type { PackHeader } from './pack-file.ts'
import { PackObjects } from './pack-objects.ts'

/** Limits of one pack: the number of objects, and the bytes of one object held in memory. */
export interface PackLimits {
  readonly objects: number
  readonly objectBytes: number
  /** Aborts at the header of a file over this size; if `undefined`, too large objects are skipped instead. */
  readonly stopBytes?: number
}

/** The reader aborted a pack at the header of a too large object, and read no further. */
export class LargeInPack extends Error {
  override readonly name = 'LargeInPack'
  /** `undefined` if only a delta of the object is known to be too large. */
  readonly size: number | undefined

  constructor(size: number | undefined) {
    super('The pack has an object that is too large')
    this.size = size
  }
}

/** Called for each object that fits into memory. */
export type ObjectSink = (id: ObjectId, object: GitObject) => void

/** Reads a pack in bounded memory. Every id is computed from the bytes, never taken from the server. */
export class PackReader implements Disposable {
  readonly #file: PackFile
  readonly #spool: PackSpool
  readonly #format: ObjectFormat
  readonly #limits: PackLimits
  readonly #offsets = new Map<ObjectId, number>()
  readonly #objects: PackObjects
  /** The sizes of the too large objects. */
  readonly #tooLarge = new Map<ObjectId, number>()
  /** True if the id of a too large object is unknown, because computing it would need the whole object in memory. */
  #hasUnknown = false

  private constructor(file: PackFile, spool: PackSpool, format: ObjectFormat, limits: PackLimits) {
    this.#file = file
    this.#spool = spool
    this.#format = format
    this.#limits = limits
    this.#objects = new PackObjects(file, limits.objectBytes, (id) => this.#offsets.get(id))
  }

  /**
   * Writes a pack to a new file as it arrives, and scans it once: each object is checked as soon as its header is
   * there.
   */
  static async receive(
    chunks: AsyncIterable<Uint8Array>,
    path: string,
    { format, limits }: { readonly format: ObjectFormat; readonly limits: PackLimits },
    found: ObjectSink = () => {},
  ): Promise<PackReader> {
    await using spool = new PackSpool(chunks, path, format)
    while (spool.bytes < LEAST_PACK_BYTES && (await spool.more()));
    const file = sound(() => new PackFile(path, format))
    try {
      const reader = new PackReader(file, spool, format, limits)
      await reader.#scan(found)
      return reader
    } catch (cause) {
      file[Symbol.dispose]()
      throw cause instanceof LargeInPack ? cause : damageError(cause)
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]()
  }

  read(id: ObjectId): GitObject | undefined {
    const offset = this.#offsets.get(id)
    return offset === undefined ? undefined : sound(() => this.#objects.resolve(offset))
  }

  /** Returns the size of an object that is too large for memory; `undefined` if that is unknown. */
  sizeOfLarge(id: ObjectId): number | undefined {
    return this.#tooLarge.get(id)
  }

  /** True if the pack has, or may have, an object that is too large for memory. */
  get mayHaveLarge(): boolean {
    return this.#hasUnknown || this.#tooLarge.size > 0
  }

  /** True if the pack has, or may have, this object as one that is too large for memory. */
  isTooLarge(id: ObjectId): boolean {
    return this.#tooLarge.has(id) || (this.#hasUnknown && !this.#offsets.has(id))
  }

  async #scan(found: ObjectSink): Promise<void> {
    const { count, start } = this.#file
    const waiting = new Map<ObjectId, number[]>()
    let at = start
    for (let index = 0; index < count; index += 1) {
      // Checked only after that many objects: a corrupt count must not be reported as a limit that the operator could
      // raise.
      if (index === this.#limits.objects) throw tooMany(count)
      // Nearly all that is needed is there, and an `await` for each object would cost a tenth of the scan.
      if (this.#file.end < at + OBJECT_HEADER_BYTES) await this.#arrived(at + OBJECT_HEADER_BYTES)
      const header = this.#file.header(at)
      this.#expectWanted(header)
      if (header.size > this.#limits.objectBytes) {
        at = await this.#pass(header)
        continue
      }
      const inflated = this.#file.inflateArrived(header) ?? (await this.#file.inflateArriving(header, this.#arrived))
      const { bytes, next } = inflated
      const base = header.stored.kind === 'delta' ? header.stored.base : undefined
      if (typeof base === 'string' && !this.#offsets.has(base)) append(waiting, base, at)
      else this.#enter(at, header, bytes, found)
      at = next
    }
    await this.#arrived(Infinity)
    if (at !== this.#file.end) throw new Malformed('something follows the last object')
    this.#enterLate(waiting, found)
  }

  readonly #arrived = async (end: number): Promise<void> => {
    while (this.#file.end < end && (await this.#spool.more())) this.#file.grow(this.#spool.bytes)
  }

  #expectWanted({ size, stored }: PackHeader): void {
    const { objectBytes, stopBytes } = this.#limits
    if (stopBytes === undefined || size <= stopBytes) return
    if (stored.kind === 'whole' && stored.type === 'blob') throw new LargeInPack(size)
    if (size > objectBytes) throw new LargeInPack(undefined)
  }

  /** Adds an object whose base is known; returns `undefined` if it is too large to be held. */
  #enter(offset: number, header: PackHeader, bytes: Buffer, found: ObjectSink): ObjectId | undefined {
    const object = this.#objects.enter(offset, header, bytes)
    if (object === undefined) {
      this.#hasUnknown = true
      return undefined
    }
    const id = objectIdOf(object, this.#format)
    this.#offsets.set(id, offset)
    found(id, object)
    return id
  }

  /**
   * Adds the deltas whose base came after them. Each is processed once, because repeated scans would take quadratic
   * time.
   */
  #enterLate(waiting: Map<ObjectId, number[]>, found: ObjectSink): void {
    const bases = [...waiting.keys()].filter((id) => this.#offsets.has(id))
    for (let base = bases.pop(); base !== undefined; base = bases.pop()) {
      const offsets = waiting.get(base) ?? []
      waiting.delete(base)
      for (const offset of offsets) {
        const header = this.#file.header(offset)
        const id = this.#enter(offset, header, this.#file.inflate(header).bytes, found)
        if (id !== undefined && waiting.has(id)) bases.push(id)
      }
    }
    if (waiting.size === 0) return
    // The base can only be one of the objects that were too large to be held.
    if (this.#tooLarge.size === 0 && !this.#hasUnknown) throw new Malformed('a delta has no base')
    this.#hasUnknown = true
  }

  /** Skips an object that is too large for memory. Returns the offset of the next one. */
  async #pass(header: PackHeader): Promise<number> {
    const { stored, size } = header
    if (stored.kind === 'delta') {
      this.#hasUnknown = true
      return this.#file.pour(header, () => {}, this.#arrived)
    }
    const hash = createObjectHash(stored.type, size, this.#format)
    const next = await this.#file.pour(header, (piece) => void hash.update(piece), this.#arrived)
    this.#tooLarge.set(hash.objectId(), size)
    return next
  }
}

/** The header of a pack and the longer checksum. */
const LEAST_PACK_BYTES = 12 + 32

function tooMany(count: number): SyncError {
  return new SyncError(
    'limit-exceeded',
    `Cannot read the pack that was sent: ${count} objects, over what limits.repository.files allows`,
    { place: 'limits.repository.files' },
  )
}

function append(waiting: Map<ObjectId, number[]>, base: ObjectId, offset: number): void {
  const offsets = waiting.get(base)
  if (offsets === undefined) waiting.set(base, [offset])
  else offsets.push(offset)
}

function sound<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw damageError(cause)
  }
}

/** Converts an error: every fault inside a pack, zlib's errors included, is the server's fault; one of the disk stays. */
function damageError(cause: unknown): Error {
  if (cause instanceof SyncError || isSystemError(cause)) return cause
  return new SyncError('source-unreachable', 'Cannot read the pack that was sent: it is damaged', { cause })
}

/** Writes a pack to a file as it arrives, and verifies its trailing checksum. */
class PackSpool implements AsyncDisposable {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #handle: number
  readonly #format: ObjectFormat
  readonly #hash: Hash
  #tail: Buffer = Buffer.alloc(0)
  #bytes = 0
  #isWhole = false

  constructor(chunks: AsyncIterable<Uint8Array>, file: string, format: ObjectFormat) {
    this.#handle = inScratch(() => openSync(file, 'wx', 0o600))
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#format = format
    this.#hash = createHash(format)
  }

  /** The bytes written so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** Writes the next piece. Returns false if the whole pack is written; throws if the checksum differs. */
  async more(): Promise<boolean> {
    if (this.#isWhole) return false
    const { value, done } = await this.#chunks.next()
    if (done === true) {
      this.#expectChecksum()
      this.#isWhole = true
      return false
    }
    inScratch(() => writeAll(this.#handle, value))
    this.#bytes += value.length
    const bytes = Buffer.concat([this.#tail, value])
    // The last bytes so far may be the checksum, which does not cover itself.
    const body = Math.max(bytes.length - ID_BYTES[this.#format], 0)
    this.#hash.update(bytes.subarray(0, body))
    this.#tail = bytes.subarray(body)
    return true
  }

  /** Also ends the request if the pack was not read to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#handle)
    await this.#chunks.return?.()
  }

  #expectChecksum(): void {
    if (this.#hash.digest().equals(this.#tail)) return
    throw new SyncError('source-unreachable', 'Cannot read the pack that was sent: its checksum is another')
  }
}

/** Runs a write to the scratch folder. A full disk is not the source's fault. */
export function inScratch<T>(write: () => T): T {
  try {
    return write()
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) throw cause
    throw new SyncError('store-failed', `Cannot write to the scratch folder: ${String(cause.code)}`, { cause })
  }
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at)
}
