import type { ObjectFormat, ObjectId } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import { applyDelta } from './delta.ts'
import { createObjectHash, idOf, type GitObject } from './git-object.ts'
import { Malformed } from './malformed.ts'
import { ObjectCache } from './object-cache.ts'
import { PackFile, type PackHeader } from './pack-file.ts'

/** Bounds of one pack: how many objects it may have, and how many bytes of one are held in memory. */
export interface PackLimits {
  readonly objects: number
  readonly objectBytes: number
}

/** Told of each object that fits into memory. */
export type Found = (id: ObjectId, object: GitObject) => void

/** Reads a pack in bounded memory. Every id that it knows is the hash of the bytes, not a server's word. */
export class PackReader implements Disposable {
  readonly #file: PackFile
  readonly #format: ObjectFormat
  readonly #limits: PackLimits
  readonly #offsets = new Map<ObjectId, number>()
  readonly #tooLarge = new Set<ObjectId>()
  readonly #cache = new ObjectCache(CACHE_BYTES)
  /** Something was too large, and what its id is cannot be told without holding it. */
  #hasUnknown = false

  private constructor(file: PackFile, format: ObjectFormat, limits: PackLimits) {
    this.#file = file
    this.#format = format
    this.#limits = limits
  }

  /** Goes through the whole pack once. */
  static async open(
    path: string,
    format: ObjectFormat,
    limits: PackLimits,
    found: Found = () => {},
  ): Promise<PackReader> {
    const file = sound(() => new PackFile(path, format))
    try {
      const reader = new PackReader(file, format, limits)
      await reader.#scan(found)
      return reader
    } catch (cause) {
      file[Symbol.dispose]()
      throw damaged(cause)
    }
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]()
  }

  read(id: ObjectId): GitObject | undefined {
    const offset = this.#offsets.get(id)
    return offset === undefined ? undefined : sound(() => this.#resolve(offset))
  }

  /** Whether the pack has the object as one that is too large for memory, or may have it so. */
  isTooLarge(id: ObjectId): boolean {
    return this.#tooLarge.has(id) || (this.#hasUnknown && !this.#offsets.has(id))
  }

  async #scan(found: Found): Promise<void> {
    const { count, start, end } = this.#file
    if (count > this.#limits.objects) {
      throw new SyncError(
        'limit-exceeded',
        `Cannot read the pack that was sent: ${count} objects, over what limits.repository.files allows`,
      )
    }
    const waiting = new Map<ObjectId, number[]>()
    let at = start
    for (let index = 0; index < count; index += 1) {
      const header = this.#file.header(at)
      if (header.size > this.#limits.objectBytes) {
        at = await this.#pass(header)
        continue
      }
      const { bytes, next } = this.#file.inflate(header)
      const base = header.stored.kind === 'delta' ? header.stored.base : undefined
      if (typeof base === 'string' && !this.#offsets.has(base)) append(waiting, base, at)
      else this.#enter(at, header, bytes, found)
      at = next
    }
    if (at !== end) throw new Malformed('something follows the last object')
    this.#enterLate(waiting, found)
  }

  /** Takes an object in whose base is there; undefined if it is too large to be held. */
  #enter(offset: number, { stored }: PackHeader, bytes: Buffer, found: Found): ObjectId | undefined {
    const object = stored.kind === 'whole' ? { type: stored.type, bytes } : this.#onto(stored.base, bytes)
    if (object === undefined) {
      this.#hasUnknown = true
      return undefined
    }
    this.#cache.set(offset, object)
    const id = idOf(object, this.#format)
    this.#offsets.set(id, offset)
    found(id, object)
    return id
  }

  /** Those whose base came after them, each once: looking at all of them again and again would take for ever. */
  #enterLate(waiting: Map<ObjectId, number[]>, found: Found): void {
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
    // Only what was too large to be held can have the base.
    if (this.#tooLarge.size === 0 && !this.#hasUnknown) throw new Malformed('a delta has no base')
    this.#hasUnknown = true
  }

  /** Skips an object that is too large for memory. Returns where the next begins. */
  async #pass(header: PackHeader): Promise<number> {
    if (header.stored.kind === 'delta') {
      this.#hasUnknown = true
      return this.#file.pour(header, () => {})
    }
    const hash = createObjectHash(header.stored.type, header.size, this.#format)
    const next = await this.#file.pour(header, (piece) => void hash.update(piece))
    this.#tooLarge.add(hash.objectId())
    return next
  }

  /** The object at an offset, built up from its base; undefined if it or a base is too large. */
  #resolve(offset: number): GitObject | undefined {
    const chain: { readonly offset: number; readonly header: PackHeader }[] = []
    let at = offset
    let object = this.#cache.get(at)
    while (object === undefined) {
      const header = this.#file.header(at)
      if (header.size > this.#limits.objectBytes) return undefined
      if (header.stored.kind === 'whole') {
        object = { type: header.stored.type, bytes: this.#file.inflate(header).bytes }
        this.#cache.set(at, object)
        break
      }
      chain.push({ offset: at, header })
      const base = this.#offsetOf(header.stored.base)
      if (base === undefined || chain.length > MAX_CHAIN) throw new Malformed('a delta has no base within reach')
      at = base
      object = this.#cache.get(at)
    }
    for (const step of chain.toReversed()) {
      object = applied(this.#file.inflate(step.header).bytes, object, this.#limits.objectBytes)
      if (object === undefined) return undefined
      this.#cache.set(step.offset, object)
    }
    return object
  }

  #onto(base: number | ObjectId, delta: Buffer): GitObject | undefined {
    const offset = this.#offsetOf(base)
    const object = offset === undefined ? undefined : this.#resolve(offset)
    return object === undefined ? undefined : applied(delta, object, this.#limits.objectBytes)
  }

  #offsetOf(base: number | ObjectId): number | undefined {
    return typeof base === 'number' ? base : this.#offsets.get(base)
  }
}

const CACHE_BYTES = 2 ** 25
/** The longest chain that git can be told to write. */
const MAX_CHAIN = 4096

function append(waiting: Map<ObjectId, number[]>, base: ObjectId, offset: number): void {
  const offsets = waiting.get(base)
  if (offsets === undefined) waiting.set(base, [offset])
  else offsets.push(offset)
}

function applied(delta: Buffer, base: GitObject, limit: number): GitObject | undefined {
  const bytes = applyDelta(delta, base.bytes, limit)
  return bytes === undefined ? undefined : { type: base.type, bytes }
}

function sound<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw damaged(cause)
  }
}

/** Whatever goes wrong inside of a pack, zlib's complaints too, is the fault of those who sent it. */
function damaged(cause: unknown): SyncError {
  if (cause instanceof SyncError) return cause
  return new SyncError('source-unreachable', 'Cannot read the pack that was sent: it is damaged', { cause })
}
