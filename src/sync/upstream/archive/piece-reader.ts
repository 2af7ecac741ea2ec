/** Reads exact lengths from pieces of any length. Allocates nothing for bytes that did not arrive. */
export class PieceReader implements AsyncDisposable {
  readonly #pieces: AsyncGenerator<Buffer>
  /** The received bytes that were not taken yet. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(pieces: AsyncGenerator<Buffer>) {
    this.#pieces = pieces
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pieces.return(undefined)
  }

  /** Returns a copy of the next bytes; `undefined` if the pieces end before. */
  async take(length: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = []
    for (let missing = length; missing > 0;) {
      const piece = await this.next()
      if (piece === undefined) return undefined
      const part = piece.subarray(0, missing)
      this.#rest = piece.subarray(part.length)
      missing -= part.length
      parts.push(part)
    }
    return Buffer.concat(parts, length)
  }

  /** Returns the available bytes; `undefined` at the end. */
  async next(): Promise<Buffer | undefined> {
    const rest = this.#rest
    this.#rest = rest.subarray(rest.length)
    if (rest.length > 0) return rest
    const next = await this.#pieces.next()
    return next.done === true ? undefined : next.value
  }
}
