import { closeSync, constants as flags, fstatSync, openSync, readSync } from 'node:fs'
import { constants, createInflate, inflateSync } from 'node:zlib'
import { Malformed } from '../../../base/malformed.ts'
import { isObjectId, type ObjectFormat, type ObjectId } from '../../model/revision.ts'
import { ID_BYTES, type ObjectType } from '../../upstream/objects/git-object.ts'

/** The header of one object in a pack: its storage form, its inflated size, and the offset of its compressed bytes. */
export interface PackHeader {
  readonly stored: PackedObject
  readonly size: number
  readonly at: number
}

/** Resolves as soon as the file reaches this offset, or is complete. */
type Arrived = (end: number) => Promise<void>

/** A whole object, or a delta whose base is earlier in the pack or named by its id. */
export type PackedObject =
  | { readonly kind: 'whole'; readonly type: ObjectType }
  | { readonly kind: 'delta'; readonly base: number | ObjectId }

/** A pack file, read through a window. Sizes are checked before anything is inflated; a bad pack throws `Malformed`. */
export class PackFile implements Disposable {
  /** The object count in the pack's header. */
  readonly count: number
  /** The end of the objects received so far. */
  #end: number
  readonly #handle: number
  readonly #idBytes: number
  #window: Buffer = Buffer.alloc(0)
  #windowAt = 0

  constructor(path: string, format: ObjectFormat) {
    this.#handle = openedToRead(path)
    this.#idBytes = ID_BYTES[format]
    // The trailing checksum uses the hash of the ids.
    this.#end = fstatSync(this.#handle).size - this.#idBytes
    if (this.end < HEADER_BYTES) throw new Malformed('the pack is too short')
    const head = this.#bytes(0, HEADER_BYTES)
    if (head.toString('latin1', 0, 4) !== 'PACK' || head.readUInt32BE(4) !== 2)
      throw new Malformed('no pack of version 2')
    this.count = head.readUInt32BE(8)
  }

  [Symbol.dispose](): void {
    closeSync(this.#handle)
  }

  /** The offset of the first object. */
  get start(): number {
    return HEADER_BYTES
  }

  get end(): number {
    return this.#end
  }

  /** Extends the readable part after more was written. */
  grow(bytes: number): void {
    this.#end = bytes - this.#idBytes
  }

  header(offset: number): PackHeader {
    const bytes = this.#bytes(offset, Math.min(OBJECT_HEADER_BYTES, this.end - offset))
    const first = byteAt(bytes, 0)
    let at = 1
    let size = first & 15
    for (let byte = first, scale = 16; byte > 127; scale *= 128) {
      if (scale > MAX_SCALE) throw new Malformed('an object names a size beyond reason')
      byte = byteAt(bytes, at++)
      size += (byte & 127) * scale
    }
    const type = (first >> 4) & 7
    if (type === REF_DELTA) {
      const next = at + this.#idBytes
      const base = bytes.toString('hex', at, next)
      if (!isObjectId(base)) throw new Malformed('a delta names no base')
      return { stored: { kind: 'delta', base }, size, at: offset + next }
    }
    if (type === OFS_DELTA) {
      const { distance, next } = distanceAt(bytes, at)
      if (offset - distance < HEADER_BYTES) throw new Malformed('a delta has its base outside of the pack')
      return { stored: { kind: 'delta', base: offset - distance }, size, at: offset + next }
    }
    const name = TYPES[type]
    if (name === undefined) throw new Malformed('an object is of no known type')
    return { stored: { kind: 'whole', type: name }, size, at: offset + at }
  }

  /** Inflates the object and returns the offset after it. Only for sizes that fit into memory. */
  inflate({ at, size }: PackHeader): { readonly bytes: Buffer; readonly next: number } {
    const most = mostBytes(size)
    for (let need = usualBytes(size); ; need = Math.min(need * 2, most)) {
      const packed = this.#bytes(at, Math.min(need, this.end - at))
      const result = inflatedObject(packed, size)
      if (result !== undefined) return { bytes: result.bytes, next: at + result.used }
      if (need >= most || need >= this.end - at) throw new Malformed('an object ends early')
    }
  }

  /** Inflates an object that has arrived, as nearly all have; `undefined` if more bytes may belong to it. */
  inflateArrived({ at, size }: PackHeader): { readonly bytes: Buffer; readonly next: number } | undefined {
    const usual = usualBytes(size)
    if (at + usual > this.end) return undefined
    const result = inflatedObject(this.#bytes(at, usual), size)
    return result && { bytes: result.bytes, next: at + result.used }
  }

  /** Inflates an object that may still be arriving. */
  async inflateArriving(
    header: PackHeader,
    arrived: Arrived,
  ): Promise<{ readonly bytes: Buffer; readonly next: number }> {
    const { at, size } = header
    await arrived(at + usualBytes(size))
    const there = this.inflateArrived(header)
    if (there !== undefined) return there
    await arrived(at + mostBytes(size))
    return this.inflate(header)
  }

  /** Inflates only the first bytes of an object. */
  peek({ at }: PackHeader): Buffer {
    const packed = this.#bytes(at, Math.min(PEEK_BYTES, this.end - at)).subarray(0, PEEK_BYTES)
    return inflateSync(packed, { finishFlush: constants.Z_SYNC_FLUSH })
  }

  /** Inflates an object that is too large for memory, piece by piece. Returns the offset after it. */
  async pour({ at, size }: PackHeader, take: (piece: Uint8Array) => void, arrived: Arrived): Promise<number> {
    const inflate = createInflate()
    let total = 0
    inflate.on('data', (piece: Buffer) => {
      total += piece.length
      if (total > size) inflate.destroy(new Malformed('an object is larger than it declares'))
      else take(piece)
    })
    const ended = new Promise<void>((resolve, reject) => {
      inflate.once('end', resolve).once('error', reject)
    })
    for (let from = at; !inflate.readableEnded; from += PIECE_BYTES) {
      await arrived(from + PIECE_BYTES)
      if (from >= this.end) break
      const written = new Promise<void>((resolve) => inflate.write(this.#copy(from), () => resolve()))
      await Promise.race([written, ended])
    }
    inflate.end()
    await ended
    if (total !== size) throw new Malformed('an object is smaller than it declares')
    return at + inflate.bytesWritten
  }

  #copy(from: number): Buffer {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.end - from))
    readSync(this.#handle, piece, 0, piece.length, from)
    return piece
  }

  /** Returns at least `length` bytes from `offset`, as a view that is valid until the next call. */
  #bytes(offset: number, length: number): Buffer {
    if (length <= 0 || offset + length > this.end) throw new Malformed('an object is beyond the end')
    if (offset < this.#windowAt || offset + length > this.#windowAt + this.#window.length) {
      // Backward reads tend to continue backward, and would otherwise load a window per object.
      const from = offset < this.#windowAt ? Math.max(offset - WINDOW_BYTES / 2, 0) : offset
      this.#window = Buffer.allocUnsafe(Math.min(Math.max(WINDOW_BYTES, offset - from + length), this.end - from))
      this.#windowAt = from
      readSync(this.#handle, this.#window, 0, this.#window.length, from)
    }
    return this.#window.subarray(offset - this.#windowAt)
  }
}

const HEADER_BYTES = 12
/** Type and size take at most 10 bytes, the base 32. */
export const OBJECT_HEADER_BYTES = 42
const WINDOW_BYTES = 2 ** 20
const PIECE_BYTES = 2 ** 16
/** Enough for the tables of a deflate block and the bytes that follow. */
const PEEK_BYTES = 1024
/** Deflate adds five bytes to an incompressible block. Only a malicious packer writes many empty blocks. */
const SLACK_BYTES = 2 ** 16

/** Opens a file of objects. In another user's repository it may be a pipe, and opening one would block forever. */
export function openedToRead(path: string): number {
  return openSync(path, flags.O_RDONLY | flags.O_NONBLOCK)
}

/** Returns the maximum compressed size of an object, if it was compressed well. */
function usualBytes(size: number): number {
  return size + (size >> 8) + 1024
}

/** Returns the maximum compressed size that is accepted. */
export function mostBytes(size: number): number {
  return 2 * size + SLACK_BYTES
}

const MAX_SCALE = 2 ** 42
const TYPES: readonly (ObjectType | undefined)[] = [undefined, 'commit', 'tree', 'blob', 'tag']
const OFS_DELTA = 6
const REF_DELTA = 7

/** Reads the base distance: seven bits per byte, highest first; every byte but the last adds one. */
function distanceAt(bytes: Buffer, from: number): { readonly distance: number; readonly next: number } {
  let next = from
  let byte = byteAt(bytes, next++)
  let distance = byte & 127
  while (byte > 127) {
    byte = byteAt(bytes, next++)
    distance = (distance + 1) * 128 + (byte & 127)
  }
  return { distance, next }
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw new Malformed('an object ends early')
  return byte
}

/** `undefined` if the compressed data continues beyond the given bytes. */
export function inflatedObject(
  packed: Buffer,
  size: number,
): { readonly bytes: Buffer; readonly used: number } | undefined {
  const options = { info: true, chunkSize: Math.max(size + 1, 64), maxOutputLength: Math.max(size, 1) }
  try {
    const result: unknown = inflateSync(packed, options)
    if (!isInflated(result) || result.buffer.length !== size)
      throw new Malformed('an object does not have the size that it declares')
    return { bytes: result.buffer, used: result.engine.bytesWritten }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'Z_BUF_ERROR') return undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new Malformed('an object is larger than it declares')
    throw error
  }
}

/** True for the result with `info: true`, which Node's types lack. */
function isInflated(value: unknown): value is { buffer: Buffer; engine: { bytesWritten: number } } {
  return typeof value === 'object' && value !== null && 'buffer' in value && 'engine' in value
}
