import { setImmediate as turn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'

/**
 * Deflates bytes, without a wrapper. It uses a library of ours instead of Node's zlib. The output of zlib depends on
 * the processor and on the build of Node, but the digest of an archive must not.
 */
export async function deflateBytes(bytes: Uint8Array): Promise<Buffer> {
  const { Deflate } = await import('pako')
  const deflate = new Deflate({ raw: true, level: 6 })
  const parts: Uint8Array[] = []
  deflate.onData = (part) => void parts.push(part)
  for (let start = 0; start === 0 || start < bytes.byteLength; start += SLICE) {
    const isLast = start + SLICE >= bytes.byteLength
    if (!deflate.push(bytes.subarray(start, start + SLICE), isLast)) throw new Error(`Cannot deflate: ${deflate.msg}`)
    // Lets other work run: the largest skill takes a second.
    if (!isLast) await turn()
  }
  return Buffer.concat(parts)
}

/** Compresses bytes to one gzip member without time, name or system. */
export async function gzipBytes(bytes: Uint8Array): Promise<Buffer> {
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc32(bytes), 0)
  trailer.writeUInt32LE(bytes.byteLength % 2 ** 32, 4)
  return Buffer.concat([HEADER, await deflateBytes(bytes), trailer])
}

/** Magic, deflate, no flags, no time, no hint, and 255 for an unknown system. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])

const SLICE = 32_768
