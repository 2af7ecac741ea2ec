import { createHash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { ObjectFormat } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import { ID_BYTES } from './git-object.ts'

/** Writes a pack to a file while it comes, and checks it against the checksum it ends with. */
export async function spoolPack(chunks: AsyncIterable<Uint8Array>, file: string, format: ObjectFormat): Promise<void> {
  const hash = createHash(format)
  let tail: Buffer = Buffer.alloc(0)
  const handle = inScratch(() => openSync(file, 'wx', 0o600))
  try {
    for await (const chunk of chunks) {
      inScratch(() => writeAll(handle, chunk))
      const bytes = Buffer.concat([tail, chunk])
      // The last bytes so far may be the checksum, which does not cover itself.
      const body = Math.max(bytes.length - ID_BYTES[format], 0)
      hash.update(bytes.subarray(0, body))
      tail = bytes.subarray(body)
    }
  } finally {
    closeSync(handle)
  }
  if (!hash.digest().equals(tail)) {
    throw new SyncError('source-unreachable', 'Cannot read the pack that was sent: its checksum is another')
  }
}

/** Does what writes to scratch. A disk that is full is no fault of the source. */
export function inScratch<T>(write: () => T): T {
  try {
    return write()
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause) || !('code' in cause)) throw cause
    throw new SyncError('store-failed', `Cannot write to the scratch folder: ${String(cause.code)}`, { cause })
  }
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at)
}
