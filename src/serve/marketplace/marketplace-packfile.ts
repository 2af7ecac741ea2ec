import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { isSystemError } from '../../sync/model/sync-error.ts'
import type { ReadContent } from '../content.ts'
import type { MarketplaceObject, MarketplaceRevision } from './marketplace-revision.ts'
import { ContentUnavailable, readWhole } from './read-whole.ts'

const deflated = promisify(deflate)

/** Opens an empty file that no other process sees, and that goes with its handle. */
export type OpenScratch = () => Promise<FileHandle>

/** The place of an object in a pack: its header and its deflated bytes. */
interface Span {
  readonly at: number
  readonly bytes: number
}

/** The objects of a revision as a pack of git (gitformat-pack, version 2), without deltas, in a file. */
export class MarketplacePackfile implements AsyncDisposable {
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
    revision: MarketplaceRevision,
    parts: PackfileParts,
    earlier: MarketplacePackfile | undefined,
  ): Promise<MarketplacePackfile> {
    const file = await parts.openScratch()
    try {
      return await MarketplacePackfile.#writeTo(file, revision, parts, earlier)
    } catch (error) {
      await file.close()
      if (!isSystemError(error)) throw error
      throw new ContentUnavailable('The disk takes nothing at this moment', { cause: error })
    }
  }

  static async #writeTo(
    file: FileHandle,
    { objects }: MarketplaceRevision,
    { read }: PackfileParts,
    earlier: MarketplacePackfile | undefined,
  ): Promise<MarketplacePackfile> {
    const writer = new PackWriter(file)
    await writer.begin(objects.size)
    const encode = async ([id, object]: readonly [string, MarketplaceObject]): Promise<Buffer> =>
      (await earlier?.entry(id)) ?? entryOf(object, read)
    for (const batch of batchesOf(objects)) {
      const entries = await Promise.all(batch.map(encode))
      for (const [index, [id]] of batch.entries()) await writer.add(id, entries[index] ?? Buffer.alloc(0))
    }
    return new MarketplacePackfile(file, writer.spans, await writer.end())
  }

  /** Returns the bytes of one object in the pack; `undefined` if it has none of this id. */
  async entry(id: string): Promise<Buffer | undefined> {
    const span = this.#spans.get(id)
    return span && readAt(this.#file, span.at, span.bytes)
  }

  /** Gives the whole pack in pieces of `pieceBytes`, the last one shorter. */
  async *pieces(pieceBytes: number): AsyncGenerator<Buffer> {
    yield* this.#piecesOf({ at: 0, bytes: this.#bytes }, pieceBytes)
  }

  /** Gives a pack of these objects alone, in pieces of `pieceBytes` at most. */
  async *only(ids: readonly string[], pieceBytes: number): AsyncGenerator<Buffer> {
    const hash = createHash('sha1')
    const head = headOf(ids.length)
    hash.update(head)
    yield head
    for (const span of this.#spansOf(ids)) {
      for await (const piece of this.#piecesOf(span, pieceBytes)) {
        hash.update(piece)
        yield piece
      }
    }
    yield hash.digest()
  }

  /** Joins the objects that follow each other in the file. */
  *#spansOf(ids: readonly string[]): Generator<Span> {
    let open: Span | undefined
    for (const id of ids) {
      const span = this.#spans.get(id)
      if (span === undefined) throw new TypeError(`The pack has no object ${id}`)
      if (open !== undefined && open.at + open.bytes === span.at) {
        open = { at: open.at, bytes: open.bytes + span.bytes }
        continue
      }
      if (open !== undefined) yield open
      open = span
    }
    if (open !== undefined) yield open
  }

  async *#piecesOf({ at, bytes }: Span, pieceBytes: number): AsyncGenerator<Buffer> {
    for (let done = 0; done < bytes; done += pieceBytes)
      yield await readAt(this.#file, at + done, Math.min(pieceBytes, bytes - done))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
  }
}

/** The parts behind packs. */
export interface PackfileParts {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  readonly openScratch: OpenScratch
  readonly read: ReadContent
}

/** The objects that are read and deflated at once: a few for each thread of Node, and not over this many bytes. */
const MOST_OBJECTS = 16
const MOST_BYTES = 2 ** 24

function* batchesOf(objects: MarketplaceRevision['objects']): Generator<(readonly [string, MarketplaceObject])[]> {
  let batch: (readonly [string, MarketplaceObject])[] = []
  let bytes = 0
  for (const entry of objects) {
    const [, object] = entry
    batch.push(entry)
    bytes += 'file' in object ? object.file.file.size : object.bytes.length
    if (batch.length < MOST_OBJECTS && bytes < MOST_BYTES) continue
    yield batch
    batch = []
    bytes = 0
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
    await writeAt(this.#file, trailer, this.#at)
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
    this.#pending = []
    this.#pendingBytes = 0
    this.#hash.update(bytes)
    await writeAt(this.#file, bytes, this.#at - bytes.length)
  }
}

/** Node writes less than all where the disk has no room for it. */
async function writeAt(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, at + written)
    written += bytesWritten
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
