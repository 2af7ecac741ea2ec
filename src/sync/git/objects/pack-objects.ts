import { Malformed } from '../../../base/malformed.ts'
import type { ObjectId } from '../../model/revision.ts'
import type { GitObject } from '../../upstream/objects/git-object.ts'
import type { PackFile, PackHeader } from './pack-file.ts'

/** The objects of one pack by offset. Deltas are applied to their bases in bounded memory. */
export class PackObjects {
  readonly #file: PackFile
  readonly #objectBytes: number
  readonly #offsetOf: (id: ObjectId) => number | undefined
  readonly #cache = new ObjectCache(CACHE_BYTES)

  /** No object over `objectBytes` is held. */
  constructor(file: PackFile, objectBytes: number, offsetOf: (id: ObjectId) => number | undefined) {
    this.#file = file
    this.#objectBytes = objectBytes
    this.#offsetOf = offsetOf
  }

  /** Returns the size of the object at an offset, from its first bytes alone. */
  sizeAt(offset: number): number {
    const header = this.#file.header(offset)
    return header.stored.kind === 'whole' ? header.size : deltaSizes(this.#file.peek(header)).result
  }

  /** Returns the object at an offset; `undefined` if it or a base is too large. */
  resolve(offset: number): GitObject | undefined {
    const chain: { readonly offset: number; readonly header: PackHeader }[] = []
    let at = offset
    let object = this.#cache.get(at)
    while (object === undefined) {
      const header = this.#file.header(at)
      if (header.size > this.#objectBytes) return undefined
      if (header.stored.kind === 'whole') {
        object = { type: header.stored.type, bytes: this.#file.inflate(header).bytes }
        this.#cache.set(at, object)
        break
      }
      chain.push({ offset: at, header })
      const base = this.#baseOf(header.stored.base)
      if (base === undefined || chain.length > MAX_CHAIN) throw new Malformed('a delta has no base within reach')
      at = base
      object = this.#cache.get(at)
    }
    for (const step of chain.toReversed()) {
      object = this.#applyDelta(this.#file.inflate(step.header).bytes, object)
      if (object === undefined) return undefined
      this.#cache.set(step.offset, object)
    }
    return object
  }

  /** Returns the object at an offset from its inflated bytes; `undefined` if it or a base is too large. */
  enter(offset: number, { stored }: PackHeader, bytes: Buffer): GitObject | undefined {
    const object = stored.kind === 'whole' ? { type: stored.type, bytes } : this.#onto(stored.base, bytes)
    if (object !== undefined) this.#cache.set(offset, object)
    return object
  }

  #onto(base: number | ObjectId, delta: Buffer): GitObject | undefined {
    const offset = this.#baseOf(base)
    const object = offset === undefined ? undefined : this.resolve(offset)
    return object === undefined ? undefined : this.#applyDelta(delta, object)
  }

  #applyDelta(delta: Buffer, base: GitObject): GitObject | undefined {
    const bytes = applyDelta(delta, base.bytes, this.#objectBytes)
    return bytes === undefined ? undefined : { type: base.type, bytes }
  }

  #baseOf(base: number | ObjectId): number | undefined {
    return typeof base === 'number' ? base : this.#offsetOf(base)
  }
}

const CACHE_BYTES = 2 ** 25
/** The longest delta chain that git can be configured to write. */
const MAX_CHAIN = 4096

/** An LRU cache of objects by their offset in a pack, limited in bytes. Delta bases are soon used again. */
class ObjectCache {
  readonly #capacity: number
  readonly #objects = new Map<number, GitObject>()
  #bytes = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(offset: number): GitObject | undefined {
    const object = this.#objects.get(offset)
    if (object === undefined) return undefined
    // A map keeps insertion order, so reinsertion makes the object the youngest.
    this.#objects.delete(offset)
    this.#objects.set(offset, object)
    return object
  }

  set(offset: number, object: GitObject): void {
    // An object that would evict most of the cache is not worth it.
    if (this.#objects.has(offset) || object.bytes.length > this.#capacity / 4) return
    this.#objects.set(offset, object)
    this.#bytes += object.bytes.length
    for (const [oldest, { bytes }] of this.#objects) {
      if (this.#bytes <= this.#capacity) return
      this.#objects.delete(oldest)
      this.#bytes -= bytes.length
    }
  }
}

/**
 * Applies a git delta to its base. `undefined` if the result would exceed `limit` bytes. Throws `Malformed` if the
 * delta does not fit its base or is inconsistent.
 */
export function applyDelta(delta: Buffer, base: Buffer, limit: number): Buffer | undefined {
  const reader = new DeltaReader(delta)
  if (reader.size() !== base.length) throw new Malformed('the delta has another base')
  const size = reader.size()
  if (size > limit) return undefined
  const result = Buffer.allocUnsafe(size)
  let at = 0
  while (!reader.isDone) {
    const part = reader.part(base)
    if (part.length === 0 || at + part.length > size) throw new Malformed('the delta overruns its result')
    part.copy(result, at)
    at += part.length
  }
  if (at !== size) throw new Malformed('the delta ends early')
  return result
}

/** Reads the sizes of base and result from the first bytes of a delta. */
function deltaSizes(start: Buffer): { readonly base: number; readonly result: number } {
  const reader = new DeltaReader(start)
  return { base: reader.size(), result: reader.size() }
}

class DeltaReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Reads a size: seven bits per byte, lowest first. */
  size(): number {
    let size = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte()
      size += (byte & 127) * scale
      if (byte < 128) return size
      if (scale > MAX_SCALE) throw new Malformed('the delta names a size beyond reason')
    }
  }

  /** Returns the next part of the result: copied from the base, or literal from the delta. */
  part(base: Buffer): Buffer {
    const op = this.#byte()
    if (op < 128) return this.#slice(this.#bytes, this.#advance(op), op)
    const offset = this.#number(op, 4)
    const length = this.#number(op >> 4, 3)
    return this.#slice(base, offset, length === 0 ? 0x10000 : length)
  }

  /** Reads the bytes that the bits of `mask` select, lowest first; the others are zero. */
  #number(mask: number, bytes: number): number {
    let value = 0
    for (let index = 0; index < bytes; index += 1) {
      if ((mask >> index) & 1) value += this.#byte() * 2 ** (8 * index)
    }
    return value
  }

  #slice(bytes: Buffer, from: number, length: number): Buffer {
    if (from + length > bytes.length) throw new Malformed('the delta reads beyond the end')
    return bytes.subarray(from, from + length)
  }

  #advance(by: number): number {
    const from = this.#at
    this.#at += by
    return from
  }

  #byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new Malformed('the delta ends early')
    this.#at += 1
    return byte
  }
}

const MAX_SCALE = 2 ** 42
