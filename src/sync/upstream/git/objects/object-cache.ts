import type { GitObject } from './git-object.ts'

/** An LRU cache of objects by their offset in a pack, limited in bytes. Delta bases are soon used again. */
export class ObjectCache {
  readonly #capacity: number
  readonly #objects = new Map<number, GitObject>()
  #bytes = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(offset: number): GitObject | undefined {
    const object = this.#objects.get(offset)
    if (object === undefined) return undefined
    // A map keeps insertion order, so reinsertion makes the object the youngest.
    this.#objects.delete(offset)
    this.#objects.set(offset, object)
    return object
  }

  set(offset: number, object: GitObject): void {
    // An object that would evict most of the cache is not worth it.
    if (this.#objects.has(offset) || object.bytes.length > this.#capacity / 4) return
    this.#objects.set(offset, object)
    this.#bytes += object.bytes.length
    for (const [oldest, { bytes }] of this.#objects) {
      if (this.#bytes <= this.#capacity) return
      this.#objects.delete(oldest)
      this.#bytes -= bytes.length
    }
  }
}
