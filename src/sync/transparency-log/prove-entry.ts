import type { Checkpoint } from './checkpoint.ts'
import { LogRefusedError } from './follow-log.ts'
import type { LogReader } from './follow-log.ts'
import { LogHashes } from './log-hashes.ts'
import { inclusionProof, isIncluded, isSameHash, leafHash, treeRoot } from './merkle-tree.ts'
import type { TreeHead } from './merkle-tree.ts'
import { entriesOf, hashReader, tileBytes, tilePath, tilesBetween, TILE_WIDTH } from './tiles.ts'

/** An entry of a log, and its audit path. */
export interface ProvedEntry {
  readonly entry: Uint8Array
  readonly hashes: readonly Uint8Array[]
}

/** Reads one entry of a log and its audit path out of tiles. Throws `LogRefusedError` unless the checkpoint covers both. */
export async function proveEntry(
  index: number,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
  reader: LogReader,
): Promise<ProvedEntry> {
  if (index >= size) throw new LogRefusedError('damaged', `it has no entry ${index}`)
  const bundle = await bundleAt(Math.floor(index / TILE_WIDTH), size, reader)
  const entry = bundle[index % TILE_WIDTH]
  const hashes = await inclusionProof(
    index,
    size,
    hashReader(size, async (tile) => reader.tile(tile)),
  ).catch((error: unknown) => {
    if (error instanceof RangeError) throw new LogRefusedError('damaged', error.message)
    throw error
  })
  if (entry !== undefined && isIncluded({ leaf: leafHash(entry), index, size, root }, hashes)) return { entry, hashes }
  throw new LogRefusedError('damaged', `its tiles do not show that the checkpoint covers the entry ${index}`)
}

/** The means of reading a whole log. */
export interface Auditing {
  readonly reader: LogReader
  /** Called with each entry, oldest first. */
  readonly onEntry: (entry: Uint8Array, index: number) => void
  /** A head of the log that another machine has seen, not longer than the log. */
  readonly other?: TreeHead | undefined
  readonly signal: AbortSignal
}

/** The result of an audit. */
export interface Audited {
  /** In words; none if the log is as it was signed. */
  readonly differences: readonly string[]
  /** True if the log does not continue the other head. */
  readonly isForked: boolean
}

/**
 * Reads each entry and each tile of a log, and compares both with the checkpoint. The hashes are in memory meanwhile, about
 * a kilobyte for each entry.
 */
export async function auditLog(
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
  { reader, onEntry, other, signal }: Auditing,
): Promise<Audited> {
  const log = new LogHashes()
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    signal.throwIfAborted()
    for (const entry of await bundleAt(index, size, reader)) {
      onEntry(entry, log.size)
      log.append(entry)
    }
  }
  const isForked = other !== undefined && !isSameHash(await treeRoot(other.size, log.read), other.root)
  const differences: string[] = []
  if (!isSameHash(await treeRoot(size, log.read), root))
    differences.push(`its ${size} entries are not those that its checkpoint covers`)
  for (const tile of tilesBetween(0, size)) {
    signal.throwIfAborted()
    if (isSameHash(await reader.tile(tile), await tileBytes(tile, log.read))) continue
    differences.push(`"${tilePath(tile)}" has not the hashes of its entries`)
    if (differences.length === MOST_DIFFERENCES) break
  }
  return { differences, isForked }
}

/** More of them say nothing further. */
const MOST_DIFFERENCES = 10

async function bundleAt(index: number, size: number, reader: LogReader): Promise<readonly Uint8Array[]> {
  const width = Math.min(size - index * TILE_WIDTH, TILE_WIDTH)
  const entries = entriesOf(await reader.entries(index, width), width)
  if (entries === undefined) throw new LogRefusedError('damaged', `the bundle ${index} does not have ${width} entries`)
  return entries
}
