/** One file of an archive. */
export interface ArchiveEntry {
  /** A relative path with slashes. */
  readonly path: string
  readonly executable: boolean
  readonly bytes: Uint8Array
}

/**
 * Builds a tar archive in the ustar format of POSIX.1, with regular files in the given order. It contains no time, user
 * or machine: equal entries give equal bytes.
 */
export function tarOf(entries: readonly ArchiveEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => [
    headerOf(entry),
    entry.bytes,
    Buffer.alloc(-entry.bytes.byteLength & (BLOCK - 1)),
  ])
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

/** Returns the path as a ustar header stores it; `undefined` if it is too long, or has no slash in the right place. */
export function ustarNameOf(path: string): { readonly prefix: Buffer; readonly name: Buffer } | undefined {
  const bytes = Buffer.from(path, 'utf8')
  if (bytes.length <= NAME) return { prefix: Buffer.alloc(0), name: bytes }
  // The first slash that leaves a short enough name. An empty name is invalid.
  const slash = bytes.indexOf('/', bytes.length - NAME - 1)
  if (slash === -1 || slash > PREFIX || slash === bytes.length - 1) return undefined
  return { prefix: bytes.subarray(0, slash), name: bytes.subarray(slash + 1) }
}

const BLOCK = 512
const NAME = 100
const PREFIX = 155

function headerOf({ path, executable, bytes }: ArchiveEntry): Buffer {
  const header = Buffer.alloc(BLOCK)
  const split = ustarNameOf(path)
  if (split === undefined) throw new RangeError(`ustar cannot hold the name "${path}"`)
  split.name.copy(header, 0)
  octal(executable ? 0o755 : 0o644, header, 100, 8)
  octal(0, header, 108, 8)
  octal(0, header, 116, 8)
  octal(bytes.byteLength, header, 124, 12)
  octal(0, header, 136, 12)
  // The checksum is computed with spaces in its own field.
  header.fill(' ', 148, 156)
  header.write('0', 156, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  octal(0, header, 329, 8)
  octal(0, header, 337, 8)
  split.prefix.copy(header, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\x00 `, 148, 'latin1')
  return header
}

function octal(value: number, header: Buffer, offset: number, length: number): void {
  header.write(value.toString(8).padStart(length - 1, '0'), offset, 'latin1')
}
