import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deflate, deflateSync } from 'node:zlib'
import type { ReadContent } from '../../serve/content.ts'
import { isSystemError } from '../../sync/model/sync-error.ts'
import type { MarketplaceObject, MarketplaceRevision } from './marketplace-revision.ts'
import { ContentUnavailableError, readWhole } from './read-whole.ts'

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

  /**
   * Writes the pack. Objects that the `earlier` pack has are copied. Throws `ContentUnavailableError`, also when `signal` is
   * aborted.
   */
  static async write(
    revision: MarketplaceRevision,
    parts: WritingParts,
    earlier: MarketplacePackfile | undefined,
  ): Promise<MarketplacePackfile> {
    if (parts.signal.aborted) throw new ContentUnavailableError('The server stops')
    const file = await parts.openScratch()
    try {
      return await MarketplacePackfile.#writeTo(file, revision, parts, earlier)
    } catch (error) {
      await file.close()
      if (!isSystemError(error)) throw error
      throw new ContentUnavailableError('The disk accepts no data at the moment', { cause: error })
    }
  }

  static async #writeTo(
    file: FileHandle,
    { objects }: MarketplaceRevision,
    { read, signal }: WritingParts,
    earlier: MarketplacePackfile | undefined,
  ): Promise<MarketplacePackfile> {
    const writer = new PackWriter(file, signal)
    await writer.begin(objects.size)
    if (earlier !== undefined) for await (const [id, entry] of earlier.#entriesOf(objects)) await writer.add(id, entry)
    for (const batch of batchesOf([...objects].filter(([id]) => !writer.spans.has(id)))) {
      const entries = await Promise.all(batch.map(async ([, object]) => entryOf(object, read)))
      for (const [index, [id]] of batch.entries()) await writer.add(id, entries[index] ?? Buffer.alloc(0))
    }
    return new MarketplacePackfile(file, writer.spans, await writer.end())
  }

  /** Gives those of these objects that the pack has, in the order of the file, which is read in large pieces. */
  async *#entriesOf(objects: MarketplaceRevision['objects']): AsyncGenerator<readonly [string, Buffer]> {
    const placed = [...this.#spans].filter(([id]) => objects.has(id))
    for (const run of runsOf(placed)) {
      const bytes = await readAt(this.#file, run.at, run.bytes)
      for (const [id, { at, bytes: size }] of run.spans) yield [id, bytes.subarray(at - run.at, at - run.at + size)]
    }
  }

  /** Gives the whole pack in pieces that are read into `buffer`: each is valid until the next one is requested. */
  async *pieces(buffer: Buffer): AsyncGenerator<Buffer> {
    yield* this.#piecesOf({ at: 0, bytes: this.#bytes }, buffer)
  }

  /** The size of what `only` gives for the same objects. */
  bytesOf(ids: readonly string[], added: readonly Buffer[] = []): number {
    const spans = [...this.#spansOf(ids)].reduce((sum, { bytes }) => sum + bytes, 0)
    return headOf(0).length + Buffer.concat(added).length + spans + TRAILER_BYTES
  }

  /** Gives a pack of these objects alone, in pieces as `pieces` does. `added`: objects besides, from `packEntry`. */
  async *only(ids: readonly string[], buffer: Buffer, added: readonly Buffer[] = []): AsyncGenerator<Buffer> {
    const hash = createHash('sha1')
    const head = Buffer.concat([headOf(ids.length + added.length), ...added])
    hash.update(head)
    yield head
    for (const span of this.#spansOf(ids)) {
      for await (const piece of this.#piecesOf(span, buffer)) {
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

  async *#piecesOf({ at, bytes }: Span, buffer: Buffer): AsyncGenerator<Buffer> {
    for (let done = 0; done < bytes; done += buffer.length)
      yield await readInto(buffer.subarray(0, bytes - done), this.#file, at + done)
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

/** The parts to write one pack. */
export interface WritingParts extends Pick<PackfileParts, 'openScratch' | 'read'> {
  readonly signal: AbortSignal
}

/** The objects that are read and deflated at once: a few for each thread of Node, and not over this many bytes. */
const MOST_OBJECTS = 16
const MOST_BYTES = 2 ** 24

type NamedObject = readonly [string, MarketplaceObject]

function* batchesOf(objects: readonly NamedObject[]): Generator<NamedObject[]> {
  let batch: NamedObject[] = []
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

/** Objects that follow each other in the file. */
interface Run extends Span {
  readonly spans: readonly PlacedObject[]
}

type PlacedObject = readonly [id: string, span: Span]

/** Joins the objects that follow each other in the file, up to some number of bytes. */
function* runsOf(placed: readonly PlacedObject[]): Generator<Run> {
  let spans: PlacedObject[] = []
  let [at, bytes] = [0, 0]
  for (const one of placed) {
    const [, span] = one
    if (spans.length > 0 && (at + bytes !== span.at || bytes + span.bytes > FLUSH_BYTES)) {
      yield { at, bytes, spans }
      spans = []
    }
    if (spans.length === 0) [at, bytes] = [span.at, 0]
    spans.push(one)
    bytes += span.bytes
  }
  if (spans.length > 0) yield { at, bytes, spans }
}

/** Writes a pack in large pieces. */
class PackWriter {
  readonly spans = new Map<string, Span>()
  readonly #file: FileHandle
  readonly #signal: AbortSignal
  readonly #hash = createHash('sha1')
  #pending: Buffer[] = []
  #pendingBytes = 0
  #at = 0

  constructor(file: FileHandle, signal: AbortSignal) {
    this.#file = file
    this.#signal = signal
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
    if (this.#signal.aborted) throw new ContentUnavailableError('The server stops')
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

/** A SHA-1 of all before it. */
const TRAILER_BYTES = 20

async function entryOf(object: MarketplaceObject, read: ReadContent): Promise<Buffer> {
  const bytes = 'file' in object ? await readWhole(object.file, read) : object.bytes
  return packEntry(object.type, bytes)
}

/** Encodes an object as it stands in a pack. */
export async function packEntry(type: MarketplaceObject['type'], bytes: Buffer): Promise<Buffer> {
  // For a small object the way to another thread takes longer than the work.
  const small = bytes.length <= SMALL_BYTES ? deflateSync(bytes) : undefined
  return Buffer.concat([entryHead(TYPES[type], bytes.length), small ?? (await deflated(bytes))])
}

/** Deflated in about 0.1 ms. */
const SMALL_BYTES = 2 ** 12

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
  return readInto(Buffer.allocUnsafe(bytes), file, at)
}

/** Fills the buffer. */
async function readInto(buffer: Buffer, file: FileHandle, at: number): Promise<Buffer> {
  for (let filled = 0; filled < buffer.length;) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, at + filled)
    if (bytesRead === 0) throw new RangeError('The pack ends too early')
    filled += bytesRead
  }
  return buffer
}
