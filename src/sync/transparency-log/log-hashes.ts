import { leafHash, nodeHash } from './merkle-tree.ts'
import type { ReadHash } from './merkle-tree.ts'

/** The hashes of all complete subtrees of a growing log, in memory: some 64 bytes of hashes for each entry. */
export class LogHashes {
  /** By the level of the subtrees, and in their order. */
  readonly #levels: Uint8Array[][] = [[]]

  get size(): number {
    return this.#levels[0]?.length ?? 0
  }

  append(entry: Uint8Array): void {
    let hash: Uint8Array = leafHash(entry)
    for (let level = 0; ; level += 1) {
      const hashes = (this.#levels[level] ??= [])
      const left = hashes.at(-1)
      hashes.push(hash)
      if (left === undefined || hashes.length % 2 === 1) return
      hash = nodeHash(left, hash)
    }
  }

  /** Returns the hash of a complete subtree. Throws a `RangeError` if the log is too short for it. */
  readonly read: ReadHash = async ({ level, index }) => {
    const hash = this.#levels[level]?.[index]
    if (hash === undefined) throw new RangeError(`A log of ${this.size} entries has no subtree ${index} at ${level}`)
    return hash
  }
}
