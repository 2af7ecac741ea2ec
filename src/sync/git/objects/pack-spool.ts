import { createHash, type Hash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { ObjectFormat } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import { ID_BYTES } from '../../upstream/objects/git-object.ts'

/** Writes a pack to a file as it arrives, and verifies its trailing checksum. */
export class PackSpool implements AsyncDisposable {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #handle: number
  readonly #format: ObjectFormat
  readonly #hash: Hash
  #tail: Buffer = Buffer.alloc(0)
  #bytes = 0
  #isWhole = false

  constructor(chunks: AsyncIterable<Uint8Array>, file: string, format: ObjectFormat) {
    this.#handle = inScratch(() => openSync(file, 'wx', 0o600))
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#format = format
    this.#hash = createHash(format)
  }

  /** The bytes written so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** Writes the next piece. Returns false if the whole pack is written; throws if the checksum differs. */
  async more(): Promise<boolean> {
    if (this.#isWhole) return false
    const { value, done } = await this.#chunks.next()
    if (done === true) {
      this.#expectChecksum()
      this.#isWhole = true
      return false
    }
    inScratch(() => writeAll(this.#handle, value))
    this.#bytes += value.length
    const bytes = Buffer.concat([this.#tail, value])
    // The last bytes so far may be the checksum, which does not cover itself.
    const body = Math.max(bytes.length - ID_BYTES[this.#format], 0)
    this.#hash.update(bytes.subarray(0, body))
    this.#tail = bytes.subarray(body)
    return true
  }

  /** Also ends the request if the pack was not read to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#handle)
    await this.#chunks.return?.()
  }

  #expectChecksum(): void {
    if (this.#hash.digest().equals(this.#tail)) return
    throw new SyncError('source-unreachable', 'Cannot read the pack that was sent: its checksum is another')
  }
}

/** Runs a write to the scratch folder. A full disk is not the source's fault. */
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
