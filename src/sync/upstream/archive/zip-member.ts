import { badMember } from './archive-error.ts'
import { checkExtra, zipFieldsAt } from './zip-directory.ts'
import type { ZipEntry } from './zip-directory.ts'

/**
 * Returns the compressed bytes of a member, between its local header and the next item in the archive. Throws if the
 * header differs from the directory, or if there are other bytes in between. This also detects overlapping members.
 */
export function packedBytesOf(archive: Buffer, entry: ZipEntry, next: number): Buffer {
  const start = checkHeader(archive, entry, next)
  const end = start + entry.packed
  const between = next - end
  if (between < 0) throw badMember(entry.name.toString(), 'overlaps what comes next in the zip')
  const isRight = isStreamed(entry) ? isDescriptor(archive.subarray(end, next), entry) : between === 0
  if (!isRight) throw badMember(entry.name.toString(), 'has something else after its bytes')
  return archive.subarray(start, end)
}

const HEADER_BYTES = 30

/** Returns the offset of the bytes. */
function checkHeader(archive: Buffer, entry: ZipEntry, next: number): number {
  const { name, offset } = entry
  const at = offset + HEADER_BYTES
  if (at > next || archive.toString('latin1', offset, offset + 4) !== 'PK\x03\x04') {
    throw badMember(name.toString(), 'has no header of its own')
  }
  const local = zipFieldsAt(archive, offset + 6)
  const extra = at + local.nameBytes
  const start = extra + local.extraBytes
  if (start > next) throw badMember(name.toString(), 'overlaps what comes next in the zip')
  if (!archive.subarray(at, extra).equals(name)) throw badMember(name.toString(), 'has another name in its own header')
  checkExtra(archive.subarray(extra, start), name.toString())
  const isSame = (['sum', 'packed', 'size'] as const).every((field) => agrees(local[field], entry[field], entry))
  if (local.flags !== entry.flags || local.method !== entry.method || !isSame) {
    throw badMember(name.toString(), 'is described differently in its own header')
  }
  return start
}

/** True if the values agree. A header that was written before its bytes has 0 for what was unknown then. */
function agrees(own: number, said: number, entry: ZipEntry): boolean {
  return own === said || (own === 0 && isStreamed(entry))
}

/** True if the checksum and the sizes follow the bytes. */
function isStreamed({ flags }: ZipEntry): boolean {
  return (flags & 8) !== 0
}

/** The signature is optional. */
function isDescriptor(bytes: Buffer, { sum, packed, size }: ZipEntry): boolean {
  const wanted = Buffer.alloc(16)
  wanted.write('PK\x07\x08', 'latin1')
  ;[sum, packed, size].forEach((value, index) => wanted.writeUInt32LE(value, 4 + 4 * index))
  return bytes.equals(wanted) || bytes.equals(wanted.subarray(4))
}
