import { constants, open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

/**
 * Reads a plain file, at most one byte more than the limit. `undefined` if it is not a file: a pipe would block
 * forever.
 */
export async function readBounded(path: string, maximumBytes: number): Promise<Uint8Array | undefined> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return (await file.stat()).isFile() ? await firstBytes(file, maximumBytes + 1) : undefined
}

/** Reads `count` bytes from the start, or the whole file if it is shorter. A single read may return fewer bytes. */
export async function firstBytes(file: Pick<FileHandle, 'read'>, count: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(count)
  for (let at = 0; at < count;) {
    const { bytesRead } = await file.read(bytes, at, count - at, at)
    if (bytesRead === 0) return bytes.subarray(0, at)
    at += bytesRead
  }
  return bytes
}
