import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { packFiles } from './channel-contents.ts'

/**
 * The packed files of lists of skills, in memory as far as they were asked for last: new followers that begin together ask
 * for the same ones, and to pack one costs many times as much as to send it.
 */
export class PackedLists {
  readonly #objects: Pick<ObjectStore, 'get'>
  readonly #mostBytes: number
  /** The one that was asked for longest ago first. */
  readonly #packed = new Map<Digest, PackedList>()
  #bytes = 0

  constructor(objects: Pick<ObjectStore, 'get'>, mostBytes = MOST_BYTES) {
    this.#objects = objects
    this.#mostBytes = mostBytes
  }

  /** Packs the files; `undefined` if they are too large for it. Rejects if one is damaged, and the next call tries again. */
  async pack(list: Digest): Promise<Uint8Array | undefined> {
    const packed = this.#packed.get(list) ?? this.#begin(list)
    this.#packed.delete(list)
    this.#packed.set(list, packed)
    return packed.packing
  }

  /** Drops all other lists: they are out of service. */
  keep(lists: ReadonlySet<Digest>): void {
    for (const [list, packed] of this.#packed) if (!lists.has(list)) this.#drop(list, packed)
  }

  #begin(list: Digest): PackedList {
    const packed: PackedList = { packing: packFiles(this.#objects, list), bytes: 0 }
    // The caller gets the failure.
    void packed.packing.then(
      (bytes) => this.#count(list, packed, bytes?.length ?? 0),
      () => this.#drop(list, packed),
    )
    return packed
  }

  #count(list: Digest, packed: PackedList, bytes: number): void {
    if (this.#packed.get(list) !== packed) return
    packed.bytes = bytes
    this.#bytes += bytes
    for (const [oldest, other] of this.#packed) {
      if (this.#bytes <= this.#mostBytes) return
      // One that is still being packed has no bytes yet, and is counted later.
      if (other.bytes > 0) this.#drop(oldest, other)
    }
  }

  #drop(list: Digest, packed: PackedList): void {
    if (this.#packed.get(list) !== packed) return
    this.#packed.delete(list)
    this.#bytes -= packed.bytes
  }
}

interface PackedList {
  readonly packing: Promise<Uint8Array | undefined>
  /** 0 until it is packed. */
  bytes: number
}

/** Eight lists whose files are as large as they may be, or a hundred usual ones. */
const MOST_BYTES = 2 ** 24
