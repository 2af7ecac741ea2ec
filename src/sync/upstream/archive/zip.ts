import { crc32 } from 'node:zlib'
import { BadArchive, badMember, memberText } from './archive-error.ts'
import type { ArchiveMembers, UnpackLimits } from './archive-members.ts'
import { tooMany } from './archive-members.ts'
import { inflatedStream } from './inflate.ts'
import type { MemberKind } from './member-path.ts'

/**
 * Reads the members of a zip archive. Its directory counts, and everything else must agree with it byte by byte, so
 * that a reader from the front finds the same members.
 */
export async function unzip(archive: Buffer, members: ArchiveMembers, signal: AbortSignal): Promise<void> {
  const { entries, start } = readZipDirectory(archive, members.limits)
  const inPlace = entries.toSorted((a, b) => a.offset - b.offset)
  if ((inPlace[0]?.offset ?? start) !== 0) throw new BadArchive('the zip has something before its first member')
  for (const [index, entry] of inPlace.entries()) {
    signal.throwIfAborted()
    const packed = packedBytesOf(archive, entry, inPlace[index + 1]?.offset ?? start)
    await takeMember(entry, packed, members, signal)
  }
}

async function takeMember(
  entry: ZipEntry,
  packed: Buffer,
  members: ArchiveMembers,
  signal: AbortSignal,
): Promise<void> {
  const kind = kindOf(entry)
  const path = members.enter(entry.name, kind)
  checkReadable(entry, path)
  members.expect(path, entry.size)
  const bytes = await unpackEntry(entry, packed, signal)
  if (kind === 'folder') {
    if (bytes.length > 0) throw badMember(path, 'is a folder that has bytes')
    return
  }
  members.add({ path, executable: (entry.attributes & OWNER_EXECUTES) !== 0, bytes })
}

/**
 * Returns the kind of a member by its mode, if there is one, and by its name. Readers use either, so both must agree.
 */
function kindOf({ name, attributes }: ZipEntry): MemberKind {
  const kind = name.at(-1) === SLASH ? 'folder' : 'file'
  const type = attributes >>> 28
  const what = OTHERS.get(type)
  if (what !== undefined) throw badMember(name.toString(), `is ${what}, and neither a file nor a folder`)
  const isFolder = type === 4 || (attributes & DOS_FOLDER) !== 0
  if (kind === 'folder' ? type === 8 : isFolder) throw badMember(name.toString(), 'is listed as a file and as a folder')
  return kind
}

const SLASH = 0x2f
const DOS_FOLDER = 0x10
const OWNER_EXECUTES = 0o100 * 2 ** 16

/**
 * The names of other types by the upper four bits of the Unix mode. Allowed are 0 (unspecified), 4 (folder) and 8
 * (file).
 */
const OTHERS: ReadonlyMap<number, string> = new Map([
  [1, 'a pipe'],
  [2, 'a device'],
  [6, 'a device'],
  [10, 'a symbolic link'],
  [12, 'a socket'],
  ...[3, 5, 7, 9, 11, 13, 14, 15].map((type): [number, string] => [type, 'of an unknown kind']),
])

function checkReadable({ flags, method }: ZipEntry, path: string): void {
  if ((flags & ENCRYPTED) !== 0) throw badMember(path, 'is encrypted')
  if ((flags & ~KNOWN_FLAGS) !== 0) throw badMember(path, 'has flags that are not supported')
  if (method !== STORED && method !== DEFLATED) throw badMember(path, `is packed by method ${method}`)
}

const ENCRYPTED = 0x2041
/** The compression level, that the sizes follow, and that the name is UTF-8. */
const KNOWN_FLAGS = 0x080e
const STORED = 0
const DEFLATED = 8

async function unpackEntry(entry: ZipEntry, packed: Buffer, signal: AbortSignal): Promise<Buffer> {
  const { bytes, used, sum } = entry.method === STORED ? copyStored(packed) : await inflateEntry(entry, packed, signal)
  const name = entry.name.toString()
  if (used !== entry.packed) throw badMember(name, 'has packed bytes after their end')
  if (bytes.length !== entry.size) throw badMember(name, `has ${bytes.length} bytes, but declares ${entry.size}`)
  if (sum !== entry.sum) throw badMember(name, 'does not have the checksum that it declares')
  return bytes
}

interface Content {
  readonly bytes: Buffer
  /** The number of compressed bytes used. */
  readonly used: number
  readonly sum: number
}

/** Copies the bytes, because one file must not keep the whole archive in memory. */
function copyStored(packed: Buffer): Content {
  return { bytes: Buffer.from(packed), used: packed.length, sum: crc32(packed) }
}

async function inflateEntry({ name, size }: ZipEntry, packed: Buffer, signal: AbortSignal): Promise<Content> {
  const pieces = inflatedStream(packed, size, memberText(name.toString()), signal)
  const parts: Buffer[] = []
  // A `for await` loop would lose the generator's return value.
  for (let next = await pieces.next(); ; next = await pieces.next()) {
    if (next.done === true) return { bytes: Buffer.concat(parts), used: next.value.used, sum: next.value.sum }
    parts.push(next.value)
  }
}

/**
 * Returns the compressed bytes of a member, between its local header and the next item in the archive. Throws if the
 * header differs from the directory, or if there are other bytes in between. This also detects overlapping members.
 */
function packedBytesOf(archive: Buffer, entry: ZipEntry, next: number): Buffer {
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

/** An entry of a zip directory, parsed but not validated. */
interface ZipEntry extends ZipFields {
  readonly name: Buffer
  /** DOS attributes in the lower half, the Unix mode in the upper. */
  readonly attributes: number
  /** The offset of its local header. */
  readonly offset: number
}

/** The fields that both the directory and the local header have. */
interface ZipFields {
  readonly flags: number
  readonly method: number
  readonly sum: number
  readonly packed: number
  readonly size: number
  readonly nameBytes: number
  readonly extraBytes: number
}

/** The directory of an archive, in its own order, and its offset. */
interface ZipDirectory {
  readonly entries: readonly ZipEntry[]
  readonly start: number
}

/**
 * Reads the directory at the end of the archive (APPNOTE 6.3). No bytes may be between it, its end record and the end
 * of the archive.
 */
function readZipDirectory(archive: Buffer, limits: UnpackLimits): ZipDirectory {
  const end = endRecordOf(archive)
  const disks = [archive.readUInt16LE(end + 4), archive.readUInt16LE(end + 6)]
  const [onThisDisk, count] = [archive.readUInt16LE(end + 8), archive.readUInt16LE(end + 10)]
  const [size, start] = [archive.readUInt32LE(end + 12), archive.readUInt32LE(end + 16)]
  if (count === MAX_16 || size === MAX_32 || start === MAX_32) throw isZip64()
  if (disks.some((disk) => disk !== 0) || onThisDisk !== count) throw new BadArchive('the zip is one of several parts')
  if (start + size !== end) throw new BadArchive('the zip has something between its directory and its end')
  if (count > limits.entries) throw tooMany(limits)
  const entries: ZipEntry[] = []
  let at = start
  for (let index = 0; index < count; index += 1) {
    const { entry, next } = entryAt(archive, at, end)
    if (entry.offset >= start) throw malformedDirectory()
    entries.push(entry)
    at = next
  }
  if (at !== end) throw new BadArchive('the zip file does not have the number of members that it declares')
  return { entries, start }
}

/** Reads the fields that begin with the flags. */
function zipFieldsAt(archive: Buffer, at: number): ZipFields {
  return {
    flags: archive.readUInt16LE(at),
    method: archive.readUInt16LE(at + 2),
    sum: archive.readUInt32LE(at + 8),
    packed: archive.readUInt32LE(at + 12),
    size: archive.readUInt32LE(at + 16),
    nameBytes: archive.readUInt16LE(at + 20),
    extraBytes: archive.readUInt16LE(at + 22),
  }
}

/** Throws if an extra field would change the sizes or the name. */
function checkExtra(extra: Buffer, name: string): void {
  for (let at = 0; at < extra.length;) {
    const next = at + 4 <= extra.length ? at + 4 + extra.readUInt16LE(at + 2) : Infinity
    if (next > extra.length) throw badMember(name, 'has malformed extra fields')
    const id = extra.readUInt16LE(at)
    if (id === ZIP64) throw isZip64()
    if (id === SECOND_NAME) throw badMember(name, 'has a second name')
    at = next
  }
}

const ZIP64 = 0x0001
const SECOND_NAME = 0x7075
const MAX_16 = 0xffff
const MAX_32 = 0xffff_ffff
const END_BYTES = 22
const ENTRY_BYTES = 46

/**
 * Finds the end record. There must be exactly one, because two readers could choose different ones. Its comment may
 * contain any bytes, and ends the archive.
 */
function endRecordOf(archive: Buffer): number {
  const found: number[] = []
  const lowest = Math.max(0, archive.length - END_BYTES - MAX_16)
  for (let at = archive.indexOf(END, lowest, 'latin1'); at !== -1; at = archive.indexOf(END, at + 1, 'latin1')) {
    const after = at + END_BYTES
    if (after <= archive.length && after + archive.readUInt16LE(at + 20) === archive.length) found.push(at)
  }
  const [end, second] = found
  if (end === undefined) throw new BadArchive('it is not a zip file, or it is cut off')
  if (second !== undefined) throw new BadArchive('the zip has two ends')
  return end
}

const END = 'PK\x05\x06'

function entryAt(archive: Buffer, at: number, end: number): { readonly entry: ZipEntry; readonly next: number } {
  const name = at + ENTRY_BYTES
  if (name > end || archive.toString('latin1', at, at + 4) !== 'PK\x01\x02') throw malformedDirectory()
  const fields = zipFieldsAt(archive, at + 8)
  const extra = name + fields.nameBytes
  const comment = extra + fields.extraBytes
  const next = comment + archive.readUInt16LE(at + 32)
  if (next > end) throw malformedDirectory()
  const [disk, attributes, offset] = [
    archive.readUInt16LE(at + 34),
    archive.readUInt32LE(at + 38),
    archive.readUInt32LE(at + 42),
  ]
  const entry = { ...fields, name: archive.subarray(name, extra), attributes, offset }
  checkExtra(archive.subarray(extra, comment), entry.name.toString())
  if ([fields.packed, fields.size, offset].includes(MAX_32)) throw isZip64()
  if (disk !== 0) throw new BadArchive('the zip is one of several parts')
  return { entry, next }
}

function malformedDirectory(): BadArchive {
  return new BadArchive('the directory of the zip is malformed')
}

function isZip64(): BadArchive {
  return new BadArchive('the zip is of the form for sizes over 4 GiB')
}
