import { EMPTY_ROOT, joinedHash, leafHash, nodeHash, readHashes, subtreesOf } from './merkle-tree.ts'
import type { ReadHash } from './merkle-tree.ts'

/**
 * The complete subtrees at the right edge of a log, largest first: one for each bit of its size that is set. They are all
 * that is needed to append entries and to compute the root, 32 bytes for each doubling of the log.
 */
export interface LogEdge {
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

/** The edge of a log without entries. */
export const EMPTY_EDGE: LogEdge = { size: 0, hashes: [] }

/** The edge after these entries are appended. */
export function appended(edge: LogEdge, entries: Iterable<Uint8Array>): LogEdge {
  const hashes = [...edge.hashes]
  let { size } = edge
  for (const entry of entries) {
    let hash: Uint8Array = leafHash(entry)
    // Each complete subtree of the same size joins it, as a carry does in binary addition.
    for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) hash = nodeHash(hashes.pop() ?? EMPTY_ROOT, hash)
    hashes.push(hash)
    size += 1
  }
  return { size, hashes }
}

/** The root of the log with this edge. */
export function rootAt({ hashes }: LogEdge): Uint8Array {
  return joinedHash(hashes)
}

/**
 * The audit path of the entry that is appended to this edge, in the tree that ends with it: the complete subtrees before
 * it, smallest first.
 */
export function pathAfter({ hashes }: LogEdge): readonly Uint8Array[] {
  return hashes.toReversed()
}

/** Reads the edge of the first `size` entries. */
export async function readEdge(size: number, read: ReadHash): Promise<LogEdge> {
  return { size, hashes: await readHashes(0, size, read) }
}

/** True if the edge has as many hashes as an edge of its size: all that can be checked without the log. */
export function isEdge({ size, hashes }: LogEdge): boolean {
  return Number.isSafeInteger(size) && size >= 0 && subtreesOf(0, size).length === hashes.length
}
