import type { GitObject } from './git-object.ts'

/** Objects by where they lie in a pack: those used last, up to so many bytes. Bases of deltas are used again soon. */
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
    // A map keeps the order of entry, so what is entered anew is youngest.
    this.#objects.delete(offset)
    this.#objects.set(offset, object)
    return object
  }

  set(offset: number, object: GitObject): void {
    // One that would empty the cache is not worth it.
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
