import { badMember } from './archive-error.ts'
import { checkExtra, zipFieldsAt } from './zip-directory.ts'
import type { ZipEntry } from './zip-directory.ts'

/**
 * The packed bytes of a member, which lie between its local header and whatever comes next in the archive. Throws where
 * the header says otherwise than the directory, or where anything lies between: members that overlap are found so too.
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

/** Returns where the bytes begin. */
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
    throw badMember(name.toString(), 'is described otherwise in its own header')
  }
  return start
}

/** A header that is written ahead of its bytes leaves open what is not known by then. */
function agrees(own: number, said: number, entry: ZipEntry): boolean {
  return own === said || (own === 0 && isStreamed(entry))
}

/** Whether sum and sizes follow the bytes. */
function isStreamed({ flags }: ZipEntry): boolean {
  return (flags & 8) !== 0
}

/** Its signature may be left out. */
function isDescriptor(bytes: Buffer, { sum, packed, size }: ZipEntry): boolean {
  const wanted = Buffer.alloc(16)
  wanted.write('PK\x07\x08', 'latin1')
  ;[sum, packed, size].forEach((value, index) => wanted.writeUInt32LE(value, 4 + 4 * index))
  return bytes.equals(wanted) || bytes.equals(wanted.subarray(4))
}
