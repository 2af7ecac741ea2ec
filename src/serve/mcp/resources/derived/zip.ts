import { crc32 } from 'node:zlib'
import { deflateBytes } from './deflate.ts'
import type { ArchiveEntry } from './tar.ts'

/** The maximum number of files that the directory can count without the zip64 extension. */
export const MAX_ZIP_ENTRIES = 65_535

/** A larger archive may need the zip64 extension too. */
export const MAX_ZIP_BYTES = 0xf000_0000

/** The storage method of the files: deflate takes about a second for 16 MiB. */
type Compression = 'stored' | 'deflated'

/**
 * Builds a zip archive of the files in the given order (APPNOTE 6.3). It has no extra fields, and the earliest time of
 * the format: equal entries give equal bytes.
 */
export async function zipOf(entries: readonly ArchiveEntry[], compression: Compression): Promise<Buffer> {
  const members: Uint8Array[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const name = Buffer.from(entry.path, 'utf8')
    const data = compression === 'stored' ? entry.bytes : await deflateBytes(entry.bytes)
    const common = commonFieldsOf(entry, name, data.length, METHODS[compression])
    const member = [le32(0x04034b50), common, name, data]
    members.push(...member)
    directory.push(le32(0x02014b50), MADE_BY, common, directoryFieldsOf(entry, offset), name)
    offset += lengthOf(member)
  }
  return Buffer.concat([...members, ...directory, endOf(entries.length, lengthOf(directory), offset)])
}

const METHODS: Readonly<Record<Compression, number>> = { stored: 0, deflated: 8 }

/** Version 2.0 on Unix, which defines the upper half of the attributes. */
const MADE_BY = le16(0x0314)

/** Returns the fields that are equal in front of the bytes of a file and in the directory at the end. */
function commonFieldsOf({ bytes }: ArchiveEntry, name: Buffer, size: number, method: number): Buffer {
  const needed = 20
  const namesAreUtf8 = 0x0800
  const [time, date] = [0, 0x0021]
  return Buffer.concat([
    ...[needed, namesAreUtf8, method, time, date].map(le16),
    ...[crc32(bytes), size, bytes.byteLength].map(le32),
    ...[name.length, 0].map(le16),
  ])
}

function directoryFieldsOf({ executable }: ArchiveEntry, offset: number): Buffer {
  const [comment, disk, kind] = [0, 0, 0]
  const mode = executable ? 0o100755 : 0o100644
  return Buffer.concat([...[comment, disk, kind].map(le16), le32(mode * 2 ** 16), le32(offset)])
}

function endOf(entries: number, size: number, offset: number): Buffer {
  return Buffer.concat([le32(0x06054b50), ...[0, 0, entries, entries].map(le16), ...[size, offset].map(le32), le16(0)])
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0)
}

function le16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function le32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
