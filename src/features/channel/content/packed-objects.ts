import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

/**
 * Several objects in one compressed file, each after its length, four bytes, big-endian: those that are new with one
 * entry, or the files of one list of skills. A follower takes it instead of a request for each.
 */
export async function packObjects(objects: readonly Uint8Array[]): Promise<Buffer> {
  const pieces = objects.flatMap((bytes) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return [length, bytes]
  })
  return compressed(Buffer.concat(pieces))
}

/** The objects in such a file; none if it is damaged or has more than `most`, since each can be fetched by itself. */
export async function unpackObjects(packed: Uint8Array, most: number): Promise<readonly Uint8Array[]> {
  const bytes = await expanded(packed, { maxOutputLength: MOST_PACKED_BYTES }).catch(() => Buffer.alloc(0))
  const objects: Uint8Array[] = []
  for (let at = 0; at + 4 <= bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at)
    if (end > bytes.length || objects.length === most) return []
    objects.push(bytes.subarray(at + 4, end))
    at = end
  }
  return objects
}

/** The most bytes of such a file before it is compressed. Objects with more have none. */
export const MOST_PACKED_BYTES = 2 ** 21

const compressed = promisify(gzip)
const expanded = promisify(gunzip)
