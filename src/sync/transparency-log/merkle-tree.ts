import { createHash } from 'node:crypto'

/** The bytes of a hash in the tree. */
export const HASH_BYTES = 32

/** The hash of an entry of the log (RFC 6962, section 2.1). */
export function leafHash(entry: Uint8Array): Buffer {
  return createHash('sha256').update(LEAF).update(entry).digest()
}

/** The hash of an inner node of the tree (RFC 6962, section 2.1). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest()
}

export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)

/** The root of the empty tree: the SHA-256 of nothing. */
export const EMPTY_ROOT = createHash('sha256').digest()

/**
 * A complete subtree: `2 ** level` entries from `index * 2 ** level` on. Its hash never changes once the tree has all of
 * its entries.
 */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/** Returns the hash of a complete subtree. */
export type ReadHash = (subtree: Subtree) => Promise<Uint8Array>

/** The hash of the entries from `start` until `end` (`MTH` in RFC 6962, section 2.1). */
async function rangeHash(start: number, end: number, read: ReadHash): Promise<Uint8Array> {
  return joinedHash(await readHashes(start, end, read))
}

/** The hashes of the complete subtrees of the entries from `start` until `end`, largest first. */
export async function readHashes(start: number, end: number, read: ReadHash): Promise<readonly Uint8Array[]> {
  const hashes: Uint8Array[] = []
  for (const subtree of subtreesOf(start, end)) hashes.push(await read(subtree))
  return hashes
}

/** The hash of adjacent complete subtrees, largest first; that of the empty tree if there are none. */
export function joinedHash(subtrees: readonly Uint8Array[]): Uint8Array {
  const [last, ...others] = subtrees.toReversed()
  return last === undefined ? EMPTY_ROOT : others.reduce((right, left) => nodeHash(left, right), last)
}

/**
 * The complete subtrees of the entries from `start` until `end`, largest first. `start` is a multiple of the largest one,
 * as for every range that the tree itself has.
 */
export function subtreesOf(start: number, end: number): Subtree[] {
  const subtrees: Subtree[] = []
  for (let at = start; at < end;) {
    const level = Math.floor(Math.log2(end - at))
    subtrees.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return subtrees
}

/** The root of the tree of this size. */
export async function treeRoot(size: number, read: ReadHash): Promise<Uint8Array> {
  return rangeHash(0, size, read)
}

/** The audit path of an entry (RFC 6962, section 2.1.1), from the entry up. */
export async function inclusionProof(index: number, size: number, read: ReadHash): Promise<Uint8Array[]> {
  if (index >= size) throw new RangeError(`A tree of ${size} entries has no entry ${index}`)
  const proof: Uint8Array[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + splitOf(end - start)
    const isLeft = index < middle
    proof.push(isLeft ? await rangeHash(middle, end, read) : await rangeHash(start, middle, read))
    ;[start, end] = isLeft ? [start, middle] : [middle, end]
  }
  return proof.toReversed()
}

/** The proof that the tree of `size` begins with the one of `from` (RFC 6962, section 2.1.2). */
export async function consistencyProof(from: number, size: number, read: ReadHash): Promise<Uint8Array[]> {
  if (from > size) throw new RangeError(`A tree of ${size} entries does not begin with ${from}`)
  if (from === 0 || from === size) return []
  const proof: Uint8Array[] = []
  let [start, end] = [0, size]
  let isFirst = true
  while (from < end) {
    const middle = start + splitOf(end - start)
    if (from <= middle) {
      proof.push(await rangeHash(middle, end, read))
      end = middle
    } else {
      proof.push(await rangeHash(start, middle, read))
      start = middle
      isFirst = false
    }
  }
  // The old root itself is known to the verifier.
  if (!isFirst) proof.push(await rangeHash(start, end, read))
  return proof.toReversed()
}

/** The largest power of two that is smaller than the number of entries. */
function splitOf(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1)
}

/** A tree, by its size and root. */
export interface TreeHead {
  readonly size: number
  readonly root: Uint8Array
}

/** An entry and its place in a tree with this root. */
export interface Inclusion extends TreeHead {
  /** The hash of the entry. */
  readonly leaf: Uint8Array
  readonly index: number
}

/** True if the proof shows that the tree has the entry at the index (RFC 9162, section 2.1.3.2). */
export function isIncluded({ leaf, index, size, root }: Inclusion, proof: readonly Uint8Array[]): boolean {
  if (index >= size) return false
  let [at, last] = [index, size - 1]
  let hash = leaf
  for (const sibling of proof) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      hash = nodeHash(sibling, hash)
      while (at % 2 === 0 && at !== 0) [at, last] = halved(at, last)
    } else hash = nodeHash(hash, sibling)
    ;[at, last] = halved(at, last)
  }
  return last === 0 && isSameHash(hash, root)
}

/** True if the proof shows that the new tree begins with the old one (RFC 9162, section 2.1.4.2). */
export function isConsistent(old: TreeHead, next: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (old.size > next.size) return false
  if (old.size === next.size) return proof.length === 0 && isSameHash(old.root, next.root)
  // Every tree begins with the empty one.
  if (old.size === 0) return proof.length === 0 && isSameHash(old.root, EMPTY_ROOT)
  const path = isPowerOfTwo(old.size) ? [old.root, ...proof] : proof
  const [first, ...rest] = path
  if (first === undefined) return false
  let [at, last] = [old.size - 1, next.size - 1]
  while (at % 2 === 1) [at, last] = halved(at, last)
  let [oldHash, nextHash] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      oldHash = nodeHash(sibling, oldHash)
      nextHash = nodeHash(sibling, nextHash)
      while (at % 2 === 0 && at !== 0) [at, last] = halved(at, last)
    } else nextHash = nodeHash(nextHash, sibling)
    ;[at, last] = halved(at, last)
  }
  return last === 0 && isSameHash(oldHash, old.root) && isSameHash(nextHash, next.root)
}

function halved(at: number, last: number): [number, number] {
  return [Math.floor(at / 2), Math.floor(last / 2)]
}

function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size))
}
