import { closeSync, openSync, writeSync } from 'node:fs'
import { inScratch } from './pack-spool.ts'

/**
 * Blobs one behind the other, in one file of the scratch folder: to make a file for each takes several times as long as to write
 * it, and they get files of their own where they stay.
 */
export class BlobSpool implements Disposable {
  readonly file: string
  #descriptor: number | undefined
  #end = 0

  /** The file is made with the first blob. */
  constructor(file: string) {
    this.file = file
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /** Where in the file the bytes begin. */
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
