import { constants, open } from 'node:fs/promises'
import { codeOf } from './error-code.ts'

/** The bytes of a plain file, one more than the bound at most. Undefined for what is none: a pipe would block for ever. */
export async function readBounded(path: string, maximumBytes: number): Promise<Uint8Array | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) return undefined
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maximumBytes + 1), 0, maximumBytes + 1, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Why a file could not be opened, in words. */
export function whyNotOpened(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES') return 'permission denied'
  return code ?? 'it cannot be opened'
}
