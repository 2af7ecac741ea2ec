/** LRU cache of texts as bytes, with a limit on their total size. */
export class TextCache {
  readonly #texts = new Map<string, Buffer>()
  readonly #coming = new Map<string, Promise<Buffer | undefined>>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: string): Buffer | undefined {
    const text = this.#texts.get(key)
    if (text === undefined) return undefined
    this.#texts.delete(key)
    this.#texts.set(key, text)
    return text
  }

  /** Makes a missing text, once for all concurrent callers. Failures are not cached. */
  async add(key: string, make: () => Promise<string | undefined>): Promise<Buffer | undefined> {
    const coming = this.#coming.get(key) ?? this.#make(key, make)
    this.#coming.set(key, coming)
    return coming
  }

  async #make(key: string, make: () => Promise<string | undefined>): Promise<Buffer | undefined> {
    try {
      const made = await make()
      if (made === undefined) return undefined
      const text = Buffer.from(made)
      this.#keep(key, text)
      return text
    } finally {
      this.#coming.delete(key)
    }
  }

  #keep(key: string, text: Buffer): void {
    const size = sizeOf(key, text)
    // A single text must not evict most of the others.
    if (size > this.#maxBytes / 16) return
    this.#texts.set(key, text)
    this.#bytes += size
    for (const [oldest, least] of this.#texts) {
      if (this.#bytes <= this.#maxBytes) return
      this.#texts.delete(oldest)
      this.#bytes -= sizeOf(oldest, least)
    }
  }
}

/** Bytes of an entry in addition to its key and text: there may be many empty files. */
const OVERHEAD_BYTES = 256

function sizeOf(key: string, text: Buffer): number {
  return key.length + text.length + OVERHEAD_BYTES
}
