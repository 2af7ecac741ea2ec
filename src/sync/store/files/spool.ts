import { closeSync, constants, openSync, readSync } from 'node:fs'

/** A range of bytes in a file, starting at `at`. */
export interface Spooled {
  readonly file: string
  readonly at: number
  readonly size: number
}

/** Reads spooled bytes. The last file stays open, because thousands of pieces are in the same file. */
export class SpoolReader implements Disposable {
  #opened: { readonly file: string; readonly descriptor: number } | undefined

  /** Returns fewer bytes if the file ends early. Synchronous. */
  read({ file, at, size }: Spooled): Buffer {
    const bytes = Buffer.allocUnsafe(size)
    const descriptor = this.#descriptorOf(file)
    let filled = 0
    while (filled < size) {
      const bytesRead = readSync(descriptor, bytes, filled, size - filled, at + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.subarray(0, filled)
  }

  [Symbol.dispose](): void {
    if (this.#opened !== undefined) closeSync(this.#opened.descriptor)
    this.#opened = undefined
  }

  #descriptorOf(file: string): number {
    if (this.#opened?.file === file) return this.#opened.descriptor
    this[Symbol.dispose]()
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW)
    this.#opened = { file, descriptor }
    return descriptor
  }
}

/** Reads the bytes of one piece. */
export function readSpooled(piece: Spooled): Buffer {
  using reader = new SpoolReader()
  return reader.read(piece)
}
