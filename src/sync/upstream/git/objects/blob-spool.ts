import { closeSync, openSync, writeSync } from 'node:fs'
import { inScratch } from './pack-spool.ts'

/**
 * Appends blobs to one file in the scratch folder. Creating a file per blob takes several times as long as writing it,
 * and blobs that stay get their own files later.
 */
export class BlobSpool implements Disposable {
  readonly file: string
  #descriptor: number | undefined
  #end = 0

  /** The first blob creates the file. */
  constructor(file: string) {
    this.file = file
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /** Returns the offset of the bytes in the file. */
  append(bytes: Uint8Array): number {
    const at = this.#end
    inScratch(() => {
      this.#descriptor ??= openSync(this.file, 'wx', 0o600)
      for (let done = 0; done < bytes.length;)
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done, at + done)
    })
    this.#end += bytes.length
    return at
  }
}
