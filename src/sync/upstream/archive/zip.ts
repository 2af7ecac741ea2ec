import { crc32 } from 'node:zlib'
import { BadArchive, badMember, memberText } from './archive-error.ts'
import type { ArchiveMembers } from './archive-members.ts'
import { inflatedStream } from './inflate.ts'
import type { MemberKind } from './member-path.ts'
import { readZipDirectory } from './zip-directory.ts'
import type { ZipEntry } from './zip-directory.ts'
import { packedBytesOf } from './zip-member.ts'

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
