import { constants, open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

/** The bytes of a plain file, one more than the bound at most. Undefined for what is none: a pipe would block for ever. */
export async function readBounded(path: string, maximumBytes: number): Promise<Uint8Array | undefined> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return (await file.stat()).isFile() ? await firstBytes(file, maximumBytes + 1) : undefined
}

/** So many bytes from the start, or all where there are fewer. One read may give less than was asked for. */
export async function firstBytes(file: Pick<FileHandle, 'read'>, count: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(count)
  for (let at = 0; at < count;) {
    const { bytesRead } = await file.read(bytes, at, count - at, at)
    if (bytesRead === 0) return bytes.subarray(0, at)
    at += bytesRead
  }
  return bytes
}
