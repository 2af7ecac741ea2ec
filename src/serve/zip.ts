import { crc32 } from 'node:zlib'

/** A file as it stands in an archive. */
export interface ArchivedFile {
  /** Slash-separated. */
  readonly path: string
  readonly executable: boolean
  readonly bytes: Uint8Array
}

/**
 * A zip archive of the files, in their order (APPNOTE 6.3). It holds no times and compresses nothing, so that equal files
 * make equal bytes on each machine and with each version of a compressor: its digest moves only when a file does.
 */
export function zipOf(files: readonly ArchivedFile[]): Buffer {
  const parts: Uint8Array[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const file of files) {
    const name = Buffer.from(file.path)
    const common = commonHeader(file.bytes, name.length)
    const local = Buffer.concat([LOCAL, common, name])
    parts.push(local, file.bytes)
    directory.push(centralEntry(common, name, file.executable, offset))
    offset += local.length + file.bytes.length
  }
  const entries = Buffer.concat(directory)
  return Buffer.concat([...parts, entries, endOf(files.length, entries.length, offset)])
}

/** More would take the form of zip64. */
export const ZIP_LIMITS = { files: 0xffff, bytes: 0xf000_0000 } as const

/** "PK", and which kind of record follows. */
const LOCAL = Buffer.from('PK\u0003\u0004', 'latin1')
const CENTRAL = Buffer.from('PK\u0001\u0002', 'latin1')
const END = Buffer.from('PK\u0005\u0006', 'latin1')

/** Version 2.0 to read it, the name in UTF-8, stored, the first of January 1980, checksum, both sizes, lengths of name and extra. */
function commonHeader(bytes: Uint8Array, nameLength: number): Buffer {
  const header = Buffer.alloc(26)
  header.writeUInt16LE(20, 0)
  header.writeUInt16LE(0x0800, 2)
  header.writeUInt16LE(0x0021, 8)
  header.writeUInt32LE(crc32(bytes), 10)
  header.writeUInt32LE(bytes.length, 14)
  header.writeUInt32LE(bytes.length, 18)
  header.writeUInt16LE(nameLength, 22)
  return header
}

function centralEntry(common: Buffer, name: Buffer, executable: boolean, offset: number): Buffer {
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE((executable ? 0o100755 : 0o100644) * 0x1_0000, 6)
  rest.writeUInt32LE(offset, 10)
  return Buffer.concat([CENTRAL, MADE_BY_UNIX, common, rest, name])
}

/** Version 2.0, whose attributes are the mode of a file. */
const MADE_BY_UNIX = Buffer.from([20, 3])

function endOf(entries: number, bytes: number, offset: number): Buffer {
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries, 4)
  end.writeUInt16LE(entries, 6)
  end.writeUInt32LE(bytes, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([END, end])
}
