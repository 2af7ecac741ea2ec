/** The bytes do not have the required form. */
export class MalformedSsh extends Error {
  override readonly name = 'Malformed'
}

/** Reads the SSH wire form (RFC 4251, section 5). Checks each length before it takes anything. */
export class SshReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The number of bytes that have been read. */
  get position(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new MalformedSsh('it is cut short')
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

  /**
   * A string such as a name. Bytes that are not UTF-8 become the replacement character, which none of our names has.
   */
  text(): string {
    return this.string().toString('utf8')
  }

  /** A positive integer, big-endian, without leading zeros. */
  magnitude(): Buffer {
    const bytes = this.string()
    const [first = 0, second = 0] = bytes
    if (first >= 0x80) throw new MalformedSsh('it holds a negative number')
    if (bytes.length === 0 || (first === 0 && second < 0x80))
      throw new MalformedSsh('it holds a number that is zero or padded')
    return first === 0 ? bytes.subarray(1) : bytes
  }

  /** Throws if bytes follow. */
  end(): void {
    if (!this.isAtEnd) throw new MalformedSsh('bytes follow its end')
  }
}

/** The strings, each after its length. */
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

/** Decodes base64. Throws `MalformedSsh` unless the text is the canonical encoding of its bytes. */
export function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new MalformedSsh('it is not valid base64')
  return bytes
}
