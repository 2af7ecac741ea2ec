import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import type { ReadContent } from '../content.ts'
import type { MarketplaceObject, MarketplaceRevision } from './marketplace-revision.ts'
import { readWhole } from './read-whole.ts'

const deflated = promisify(deflate)

/** Opens an empty file that no other process sees, and that goes with its handle. */
export type OpenScratch = () => Promise<FileHandle>

/** The place of an object in a pack: its header and its deflated bytes. */
interface Span {
  readonly at: number
  readonly bytes: number
}

/** The objects of a revision as a pack of git (gitformat-pack, version 2), without deltas, in a file. */
export class MarketplacePack implements AsyncDisposable {
  readonly #file: FileHandle
  readonly #spans: ReadonlyMap<string, Span>
  readonly #bytes: number

  private constructor(file: FileHandle, spans: ReadonlyMap<string, Span>, bytes: number) {
    this.#file = file
    this.#spans = spans
    this.#bytes = bytes
  }

  /** Writes the pack. Objects that the `earlier` pack has are copied. Throws `ContentUnavailable`. */
  static async write(
    { objects }: MarketplaceRevision,
    { openScratch, read }: PackParts,
    earlier: MarketplacePack | undefined,
  ): Promise<MarketplacePack> {
    const file = await openScratch()
    try {
      const writer = new PackWriter(file)
      await writer.begin(objects.size)
      for (const batch of batchesOf(objects)) {
        const encode = async ([id, object]: readonly [string, MarketplaceObject]) =>
          (await earlier?.entry(id)) ?? entryOf(object, read)
        const entries = await Promise.all(batch.map(encode))
        for (const [index, [id]] of batch.entries()) await writer.add(id, entries[index] ?? Buffer.alloc(0))
      }
      return new MarketplacePack(file, writer.spans, await writer.end())
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** The size of the whole pack. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns the bytes of one object in the pack; `undefined` if it has none of this id. */
  async entry(id: string): Promise<Buffer | undefined> {
    const span = this.#spans.get(id)
    return span && readAt(this.#file, span.at, span.bytes)
  }

  /** Gives the whole pack in pieces of `pieceBytes`, the last one shorter. */
  async *pieces(pieceBytes: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.#bytes; at += pieceBytes)
      yield await readAt(this.#file, at, Math.min(pieceBytes, this.#bytes - at))
  }

  /** Gives a pack of these objects alone, in pieces of any size. */
  async *only(ids: readonly string[]): AsyncGenerator<Buffer> {
    const hash = createHash('sha1')
    const head = headOf(ids.length)
    hash.update(head)
    yield head
    for (const id of ids) {
      const entry = await this.entry(id)
      if (entry === undefined) throw new TypeError(`The pack has no object ${id}`)
      hash.update(entry)
      yield entry
    }
    yield hash.digest()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
  }
}

/** The parts behind packs. */
export interface PackParts {
  readonly openScratch: OpenScratch
  readonly read: ReadContent
}

/** The objects that are read and deflated at once: a few for each thread of Node. */
const AT_ONCE = 16

function* batchesOf<Item>(items: Iterable<Item>): Generator<readonly Item[]> {
  let batch: Item[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < AT_ONCE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Writes a pack in large pieces. */
class PackWriter {
  readonly spans = new Map<string, Span>()
  readonly #file: FileHandle
  readonly #hash = createHash('sha1')
  #pending: Buffer[] = []
  #pendingBytes = 0
  #at = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  async begin(count: number): Promise<void> {
    await this.#put(headOf(count))
  }

  async add(id: string, entry: Buffer): Promise<void> {
    this.spans.set(id, { at: this.#at, bytes: entry.length })
    await this.#put(entry)
  }

  /** Writes the trailer, and returns the size of the pack. */
  async end(): Promise<number> {
    await this.#flush()
    const trailer = this.#hash.digest()
    await this.#file.write(trailer, 0, trailer.length, this.#at)
    return this.#at + trailer.length
  }

  async #put(bytes: Buffer): Promise<void> {
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
    this.#at += bytes.length
    if (this.#pendingBytes >= FLUSH_BYTES) await this.#flush()
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending)
    const from = this.#at - bytes.length
    this.#pending = []
    this.#pendingBytes = 0
    this.#hash.update(bytes)
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, written, bytes.length - written, from + written)
      written += bytesWritten
    }
  }
}

const FLUSH_BYTES = 2 ** 18

/** The signature, the version and the number of objects. */
function headOf(count: number): Buffer {
  const head = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1')
  head.writeUInt32BE(count, 8)
  return head
}

async function entryOf(object: MarketplaceObject, read: ReadContent): Promise<Buffer> {
  const bytes = 'file' in object ? await readWhole(object.file, read) : object.bytes
  return Buffer.concat([entryHead(TYPES[object.type], bytes.length), await deflated(bytes)])
}

const TYPES = { commit: 1, tree: 2, blob: 3 } as const

/** The type and the size: four bits of it, then seven in each byte, the lowest first. */
function entryHead(type: number, size: number): Buffer {
  const head = [(type << 4) | (size & 0x0f)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    head[head.length - 1] = (head.at(-1) ?? 0) | 0x80
    head.push(rest & 0x7f)
  }
  return Buffer.from(head)
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  for (let filled = 0; filled < bytes;) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled, at + filled)
    if (bytesRead === 0) throw new RangeError('The pack ends too early')
    filled += bytesRead
  }
  return buffer
}
