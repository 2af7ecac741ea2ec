import { Malformed } from '../../../base/malformed.ts'

/**
 * Applies a git delta to its base. `undefined` if the result would exceed `limit` bytes. Throws `Malformed` if the
 * delta does not fit its base or is inconsistent.
 */
export function applyDelta(delta: Buffer, base: Buffer, limit: number): Buffer | undefined {
  const reader = new DeltaReader(delta)
  if (reader.size() !== base.length) throw new Malformed('the delta has another base')
  const size = reader.size()
  if (size > limit) return undefined
  const result = Buffer.allocUnsafe(size)
  let at = 0
  while (!reader.isDone) {
    const part = reader.part(base)
    if (part.length === 0 || at + part.length > size) throw new Malformed('the delta overruns its result')
    part.copy(result, at)
    at += part.length
  }
  if (at !== size) throw new Malformed('the delta ends early')
  return result
}

/** Reads the sizes of base and result from the first bytes of a delta. */
export function deltaSizes(start: Buffer): { readonly base: number; readonly result: number } {
  const reader = new DeltaReader(start)
  return { base: reader.size(), result: reader.size() }
}

class DeltaReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Reads a size: seven bits per byte, lowest first. */
  size(): number {
    let size = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte()
      size += (byte & 127) * scale
      if (byte < 128) return size
      if (scale > MAX_SCALE) throw new Malformed('the delta names a size beyond reason')
    }
  }

  /** Returns the next part of the result: copied from the base, or literal from the delta. */
  part(base: Buffer): Buffer {
    const op = this.#byte()
    if (op < 128) return this.#slice(this.#bytes, this.#advance(op), op)
    const offset = this.#number(op, 4)
    const length = this.#number(op >> 4, 3)
    return this.#slice(base, offset, length === 0 ? 0x10000 : length)
  }

  /** Reads the bytes that the bits of `mask` select, lowest first; the others are zero. */
  #number(mask: number, bytes: number): number {
    let value = 0
    for (let index = 0; index < bytes; index += 1) {
      if ((mask >> index) & 1) value += this.#byte() * 2 ** (8 * index)
    }
    return value
  }

  #slice(bytes: Buffer, from: number, length: number): Buffer {
    if (from + length > bytes.length) throw new Malformed('the delta reads beyond the end')
    return bytes.subarray(from, from + length)
  }

  #advance(by: number): number {
    const from = this.#at
    this.#at += by
    return from
  }

  #byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new Malformed('the delta ends early')
    this.#at += 1
    return byte
  }
}

const MAX_SCALE = 2 ** 42
