import { crc32, createInflateRaw } from 'node:zlib'
import { BadArchive } from './archive-error.ts'

/** The result of a deflate stream: the compressed bytes used, the inflated bytes, and their CRC-32. */
export interface Inflated {
  readonly used: number
  readonly size: number
  readonly sum: number
}

/** Yields the bytes of a raw deflate stream on demand, at most `most`. `what` starts the message. */
export async function* inflatedStream(
  packed: Uint8Array,
  most: number,
  what: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, Inflated> {
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES })
  inflate.end(packed)
  const pieces: AsyncIterable<Buffer> = inflate
  let [size, sum] = [0, 0]
  try {
    for await (const piece of pieces) {
      signal.throwIfAborted()
      size += piece.length
      if (size > most) throw new BadArchive(`${what} inflates to more than ${most} bytes`)
      sum = crc32(piece, sum)
      yield piece
    }
  } catch (error) {
    if (isDamage(error)) throw new BadArchive(`${what} has packed bytes that are damaged or end early`)
    throw error
  }
  return { used: inflate.bytesWritten, size, sum }
}

const PIECE_BYTES = 2 ** 16

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DAMAGE.has(error.code)
}

const DAMAGE: ReadonlySet<unknown> = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT'])
