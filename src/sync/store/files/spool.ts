import { closeSync, constants, openSync, readSync } from 'node:fs'

/** Bytes that lie in a file among others, from `at` on. */
export interface Spooled {
  readonly file: string
  readonly at: number
  readonly size: number
}

/** Reads what was spooled. The file that it read last stays open: thousands of pieces lie in the same one. */
export class SpoolReader implements Disposable {
  #opened: { readonly file: string; readonly descriptor: number } | undefined

  /** Fewer bytes than there should be where the file ends before them. Does not let go of the thread. */
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

/** The bytes of one piece alone. */
export function readSpooled(piece: Spooled): Buffer {
  using reader = new SpoolReader()
  return reader.read(piece)
}
