import { crc32 } from 'node:zlib'
import { BadArchive } from './archive-error.ts'
import { inflatedStream } from './inflate.ts'

/**
 * Yields the bytes of a gzip file (RFC 1952) on demand, at most `most`. The checksum is verified at the end. The file
 * must have exactly one member: Node's own reader joins several, and ignores trailing data.
 */
export async function* gunzipStream(file: Buffer, most: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const start = startOf(file)
  const { used, size, sum } = yield* inflatedStream(file.subarray(start), most, 'the archive', signal)
  const end = start + used
  if (file.length < end + TRAILER_BYTES) throw new BadArchive('the gzip file ends early')
  if (file.readUInt32LE(end) !== sum) throw new BadArchive('the gzip file does not have the checksum that it declares')
  if (file.readUInt32LE(end + 4) !== size % 2 ** 32)
    throw new BadArchive('the gzip file does not have the size that it declares')
  if (file.length > end + TRAILER_BYTES) throw new BadArchive('the gzip file continues after its first member')
}

const HEADER_BYTES = 10
const TRAILER_BYTES = 8

/** Returns the start of the deflate stream. */
function startOf(file: Buffer): number {
  const isGzip = file.length >= HEADER_BYTES && file.readUInt16BE(0) === 0x1f8b && file.readUInt8(2) === 8
  if (!isGzip) throw new BadArchive('it is not a gzip file')
  const flags = file.readUInt8(3)
  if (flags > 31) throw new BadArchive('the gzip file has unknown flags')
  let at = HEADER_BYTES
  if ((flags & EXTRA) !== 0) at = within(file, at + 2) + file.readUInt16LE(at)
  if ((flags & NAME) !== 0) at = afterZero(file, at)
  if ((flags & COMMENT) !== 0) at = afterZero(file, at)
  if ((flags & HEADER_SUM) === 0) return within(file, at)
  const sum = crc32(file.subarray(0, at)) & 0xffff
  if (file.readUInt16LE(within(file, at + 2) - 2) !== sum) throw new BadArchive('the gzip file has a damaged header')
  return at + 2
}

const HEADER_SUM = 2
const EXTRA = 4
const NAME = 8
const COMMENT = 16

function within(file: Buffer, at: number): number {
  if (at > file.length) throw new BadArchive('the gzip file ends early')
  return at
}

function afterZero(file: Buffer, at: number): number {
  const zero = file.indexOf(0, within(file, at))
  if (zero === -1) throw new BadArchive('the gzip file ends early')
  return zero + 1
}
