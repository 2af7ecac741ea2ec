import { closeSync, fstatSync, readSync } from 'node:fs'
import { Malformed } from '../../../base/malformed.ts'
import type { ObjectId } from '../../model/revision.ts'
import { ID_BYTES } from '../../upstream/objects/git-object.ts'
import { openedToRead } from './pack-file.ts'

/**
 * The index (version 2) of a pack with SHA-1 ids: the offset of each object. It is read from the disk, whatever its
 * size.
 */
export class PackIndex implements Disposable {
  readonly #handle: number
  /** The number of ids whose first byte is at most this one. */
  readonly #upTo: readonly number[]

  constructor(path: string) {
    this.#handle = openedToRead(path)
    try {
      this.#upTo = this.#fanOut()
    } catch (cause) {
      closeSync(this.#handle)
      throw cause
    }
  }

  /** Returns the object's offset in the pack; `undefined` if the pack does not have it. */
  offsetOf(id: ObjectId): number | undefined {
    const wanted = Buffer.from(id, 'hex')
    if (wanted.length !== ID) return undefined
    const first = wanted[0] ?? 0
    let [from, to] = [this.#upTo[first - 1] ?? 0, this.#upTo[first] ?? 0]
    while (from < to) {
      const middle = Math.floor((from + to) / 2)
      const order = wanted.compare(this.#bytes(IDS_AT + middle * ID, ID))
      if (order === 0) return this.#offset(middle)
      if (order < 0) to = middle
      else from = middle + 1
    }
    return undefined
  }

  [Symbol.dispose](): void {
    closeSync(this.#handle)
  }

  #fanOut(): readonly number[] {
    const head = this.#bytes(0, IDS_AT)
    if (head.readUInt32BE(0) !== MAGIC || head.readUInt32BE(4) !== 2) throw new Malformed('no pack index of version 2')
    const upTo = Array.from({ length: 256 }, (_, byte) => head.readUInt32BE(8 + byte * 4))
    const count = upTo.at(-1) ?? 0
    const isRising = upTo.every((number, byte) => number >= (upTo[byte - 1] ?? 0))
    if (!isRising || fstatSync(this.#handle).size < IDS_AT + count * (ID + 8))
      throw new Malformed('the index is damaged')
    return upTo
  }

  /** The offsets follow the ids and the checksums; those of large packs are in a separate table. */
  #offset(position: number): number {
    const count = this.#upTo.at(-1) ?? 0
    const offsetsAt = IDS_AT + count * (ID + 4)
    const offset = this.#bytes(offsetsAt + position * 4, 4).readUInt32BE()
    if (offset < LARGE) return offset
    const large = this.#bytes(offsetsAt + count * 4 + (offset - LARGE) * 8, 8).readBigUInt64BE()
    if (large > Number.MAX_SAFE_INTEGER) throw new Malformed('the index names an offset beyond reason')
    return Number(large)
  }

  #bytes(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    if (readSync(this.#handle, bytes, 0, length, at) !== length) throw new Malformed('the index ends early')
    return bytes
  }
}

const ID = ID_BYTES.sha1
const MAGIC = 0xff74_4f63
const IDS_AT = 8 + 256 * 4
const LARGE = 2 ** 31
