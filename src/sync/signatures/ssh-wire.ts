/** Bytes are not in the form that they have to be in. */
export class Malformed extends Error {
  override readonly name = 'Malformed'
}

/** Reads the wire form of SSH (RFC 4251, section 5). Each length is checked before anything is taken. */
export class SshReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** How many bytes have been read. */
  get position(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new Malformed('it is cut short')
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }

  uint8(): number {
    return this.take(1).readUInt8()
  }

  uint32(): number {
    return this.take(4).readUInt32BE()
  }

  uint64(): bigint {
    return this.take(8).readBigUInt64BE()
  }

  string(): Buffer {
    return this.take(this.uint32())
  }

  /** A string that is a name or the like. Bytes that are no UTF-8 become the replacement character, which no name of ours has. */
  text(): string {
    return this.string().toString('utf8')
  }

  /** A positive whole number, big-endian, without zeros in front. */
  magnitude(): Buffer {
    const bytes = this.string()
    const [first = 0, second = 0] = bytes
    if (first >= 0x80) throw new Malformed('it holds a negative number')
    if (bytes.length === 0 || (first === 0 && second < 0x80))
      throw new Malformed('it holds a number that is zero or padded')
    return first === 0 ? bytes.subarray(1) : bytes
  }

  /** Nothing may follow. */
  end(): void {
    if (!this.isAtEnd) throw new Malformed('bytes follow its end')
  }
}

/** The strings, each with its length in front. */
export function sshStrings(...strings: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    strings.flatMap((string) => {
      const bytes = Buffer.from(string)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}

/** The bytes that the text is in base64, if it is the one text that they have there. */
export function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new Malformed('it is not valid base64')
  return bytes
}
