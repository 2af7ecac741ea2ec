/** Follows answers of git's protocol in version 2 as they come, and inverts one byte of the packs in them. */
export class PackFlipper {
  /** Bytes of packs so far: what is not a pack (lengths, names of sections, progress) can be another and do no harm. */
  packBytes = 0
  readonly #at: number | undefined
  #head = ''
  #left = 0
  /** The present line up to now; of one that is in a pack the number of its band alone. */
  #line = ''
  #isPack = false

  constructor(at: number | undefined) {
    this.#at = at
  }

  feed(chunk: Buffer): Buffer {
    return Buffer.from(
      chunk.map((byte) => (this.#isOfPack(byte) && this.packBytes++ === this.#at ? byte ^ 0xff : byte)),
    )
  }

  #isOfPack(byte: number): boolean {
    if (this.#left === 0) {
      this.#head += String.fromCodePoint(byte)
      if (this.#head.length === 4) this.#begin(Number.parseInt(this.#head, 16))
      return false
    }
    this.#left -= 1
    if (!this.#isPack) {
      this.#line += String.fromCodePoint(byte)
      if (this.#left === 0) this.#isPack = this.#line === 'packfile\n'
      return false
    }
    if (this.#line !== '') return this.#line === '1'
    this.#line = String(byte)
    return false
  }

  #begin(length: number): void {
    this.#head = ''
    this.#line = ''
    this.#left = Math.max(length - 4, 0)
    if (length === 0) this.#isPack = false
  }
}
