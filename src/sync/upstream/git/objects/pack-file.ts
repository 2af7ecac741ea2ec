import { closeSync, constants as flags, fstatSync, openSync, readSync } from 'node:fs'
import { constants, createInflate, inflateSync } from 'node:zlib'
import { isObjectId, type ObjectFormat, type ObjectId } from '../../../model/revision.ts'
import { ID_BYTES, type ObjectType } from './git-object.ts'
import { Malformed } from '../../../../base/malformed.ts'

/** The start of one object in a pack: how it is stored, how large it is inflated, and where its packed bytes begin. */
export interface PackHeader {
  readonly stored: Stored
  readonly size: number
  readonly at: number
}

/** Resolves once the file goes so far, or goes no further. */
type Arrived = (end: number) => Promise<void>

/** Whole, or as a difference to a base that lies earlier in the pack or is named by its id. */
export type Stored =
  | { readonly kind: 'whole'; readonly type: ObjectType }
  | { readonly kind: 'delta'; readonly base: number | ObjectId }

/** A pack on disk, read through a window. Sizes are checked before anything is inflated; a bad pack throws `Malformed`. */
export class PackFile implements Disposable {
  /** How many objects it says it has. */
  readonly count: number
  /** Where the objects end, as far as they have come. */
  #end: number
  readonly #handle: number
  readonly #idBytes: number
  #window: Buffer = Buffer.alloc(0)
  #windowAt = 0

  constructor(path: string, format: ObjectFormat) {
    this.#handle = openedToRead(path)
    this.#idBytes = ID_BYTES[format]
    // The checksum is made like an id.
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

  /** Where the first object begins. */
  get start(): number {
    return HEADER_BYTES
  }

  get end(): number {
    return this.#end
  }

  /** Reads on in what was written since. */
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

  /** The bytes that begin packed at `at`, and where they end. Only for sizes that fit into memory. */
  inflate({ at, size }: PackHeader): { readonly bytes: Buffer; readonly next: number } {
    const most = mostBytes(size)
    for (let need = usualBytes(size); ; need = Math.min(need * 2, most)) {
      const packed = this.#bytes(at, Math.min(need, this.end - at))
      const result = inflated(packed, size)
      if (result !== undefined) return { bytes: result.bytes, next: at + result.used }
      if (need >= most || need >= this.end - at) throw new Malformed('an object ends early')
    }
  }

  /** The same of an object that may not have come whole. */
  async inflateArriving(
    header: PackHeader,
    arrived: Arrived,
  ): Promise<{ readonly bytes: Buffer; readonly next: number }> {
    const { at, size } = header
    const usual = usualBytes(size)
    await arrived(at + usual)
    const result = inflated(this.#bytes(at, Math.min(usual, this.end - at)), size)
    if (result !== undefined) return { bytes: result.bytes, next: at + result.used }
    await arrived(at + mostBytes(size))
    return this.inflate(header)
  }

  /** The first bytes of what begins packed at `at`: as many as a few of them unfold to. */
  peek({ at }: PackHeader): Buffer {
    const packed = this.#bytes(at, Math.min(PEEK_BYTES, this.end - at)).subarray(0, PEEK_BYTES)
    return inflateSync(packed, { finishFlush: constants.Z_SYNC_FLUSH })
  }

  /** Inflates what is too large for memory, piece by piece. Returns where it ends. */
  async pour({ at, size }: PackHeader, take: (piece: Uint8Array) => void, arrived: Arrived): Promise<number> {
    const inflate = createInflate()
    let total = 0
    inflate.on('data', (piece: Buffer) => {
      total += piece.length
      if (total > size) inflate.destroy(new Malformed('an object is larger than it says'))
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
    if (total !== size) throw new Malformed('an object is smaller than it says')
    return at + inflate.bytesWritten
  }

  #copy(from: number): Buffer {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.end - from))
    readSync(this.#handle, piece, 0, piece.length, from)
    return piece
  }

  /** At least `length` bytes from `offset` on, as a view that lasts until the next call. */
  #bytes(offset: number, length: number): Buffer {
    if (length <= 0 || offset + length > this.end) throw new Malformed('an object lies beyond the end')
    if (offset < this.#windowAt || offset + length > this.#windowAt + this.#window.length) {
      // Who goes backwards is likely to go on so, and would read a window for each object.
      const from = offset < this.#windowAt ? Math.max(offset - WINDOW_BYTES / 2, 0) : offset
      this.#window = Buffer.allocUnsafe(Math.min(Math.max(WINDOW_BYTES, offset - from + length), this.end - from))
      this.#windowAt = from
      readSync(this.#handle, this.#window, 0, this.#window.length, from)
    }
    return this.#window.subarray(offset - this.#windowAt)
  }
}

const HEADER_BYTES = 12
/** Type and size take 10 bytes at most, the base 32. */
export const OBJECT_HEADER_BYTES = 42
const WINDOW_BYTES = 2 ** 20
const PIECE_BYTES = 2 ** 16
/** More than the tables of a block and the bytes that follow them take. */
const PEEK_BYTES = 1024
/** Deflate adds five bytes to a block that it cannot shrink; blocks with nothing in them are nobody's honest work. */
const SLACK_BYTES = 2 ** 16

/** Opens a file of objects. In a repository of another user a pipe may lie in its place, whose opening would never return. */
export function openedToRead(path: string): number {
  return openSync(path, flags.O_RDONLY | flags.O_NONBLOCK)
}

/** What an object of that size takes packed, at the most, where it was packed well. */
function usualBytes(size: number): number {
  return size + (size >> 8) + 1024
}

/** The same of any packing that is worth reading. */
export function mostBytes(size: number): number {
  return 2 * size + SLACK_BYTES
}

const MAX_SCALE = 2 ** 42
const TYPES: readonly (ObjectType | undefined)[] = [undefined, 'commit', 'tree', 'blob', 'tag']
const OFS_DELTA = 6
const REF_DELTA = 7

/** Seven bits a byte, highest first, each byte but the last adding one. */
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

/** Undefined if the packed bytes go on beyond those given. */
export function inflated(packed: Buffer, size: number): { readonly bytes: Buffer; readonly used: number } | undefined {
  const options = { info: true, chunkSize: Math.max(size + 1, 64), maxOutputLength: Math.max(size, 1) }
  try {
    const result: unknown = inflateSync(packed, options)
    if (!isInflated(result) || result.buffer.length !== size)
      throw new Malformed('an object has another size than it says')
    return { bytes: result.buffer, used: result.engine.bytesWritten }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'Z_BUF_ERROR') return undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new Malformed('an object is larger than it says')
    throw error
  }
}

/** What `info: true` makes of the result, which the types of Node do not know. */
function isInflated(value: unknown): value is { buffer: Buffer; engine: { bytesWritten: number } } {
  return typeof value === 'object' && value !== null && 'buffer' in value && 'engine' in value
}
