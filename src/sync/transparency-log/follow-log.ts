import type { Checkpoint } from './checkpoint.ts'
import { appended, pathAfter, readEdge, rootAt } from './log-edge.ts'
import type { LogEdge } from './log-edge.ts'
import { consistencyProof, isConsistent, isSameHash, treeRoot } from './merkle-tree.ts'
import { entriesOf, hashReader, tilePath, TILE_WIDTH } from './tiles.ts'
import type { Tile } from './tiles.ts'

/** Reads the tiles and the entries of a log that another machine serves. The bytes need not be right. */
export interface LogReader {
  tile(tile: Tile): Promise<Uint8Array>
  /** Returns the bundle of the entries whose hashes are the tile of level 0 with this index and width. */
  entries(index: number, width: number): Promise<Uint8Array>
}

/** A log that does not continue the one that was seen before, or whose entries are not those of its checkpoint. */
export class LogRefusedError extends Error {
  override readonly name = 'LogRefused'
  /** `fork`: it has other entries than before. `damaged`: what is served is not what was signed. */
  readonly kind: 'fork' | 'damaged'

  constructor(kind: LogRefusedError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** A log as far as it was followed. */
export interface FollowedLog {
  readonly edge: LogEdge
  /** The newest entry. */
  readonly newest: Uint8Array
  /** The audit path of the newest entry. */
  readonly path: readonly Uint8Array[]
}

/**
 * Follows a log up to a signed checkpoint, which is longer than what is known, and returns its newest entry. Throws
 * `LogRefusedError` unless the checkpoint covers that entry and all that was known. A few new entries are read one by one;
 * for many, or if none is known, tiles prove the rest.
 */
export async function followLog(known: LogEdge, checkpoint: Checkpoint, reader: LogReader): Promise<FollowedLog> {
  const { size } = checkpoint
  if (size <= known.size) throw new TypeError('A log is followed to a checkpoint that is longer')
  const bundles = Math.floor((size - 1) / TILE_WIDTH) - Math.floor(known.size / TILE_WIDTH)
  if (known.size > 0 && bundles < MOST_BUNDLES) {
    const followed = await appendedTo(known, checkpoint, reader)
    if (followed !== undefined) return followed
  }
  const edge = await provenEdge(known, checkpoint, reader)
  const followed = await appendedTo(edge, checkpoint, reader)
  if (followed === undefined)
    throw new LogRefusedError('damaged', 'its entries are not those that its checkpoint covers')
  return followed
}

/** Up to this many bundles are read entry by entry, some 30 KB each. */
const MOST_BUNDLES = 4

/** Appends the entries up to the checkpoint; `undefined` if that is not what it covers. */
async function appendedTo(
  known: LogEdge,
  { size, root }: Checkpoint,
  reader: LogReader,
): Promise<FollowedLog | undefined> {
  const entries = await entriesBetween(known.size, size, reader)
  const newest = entries.at(-1)
  if (newest === undefined) return undefined
  const before = appended(known, entries.slice(0, -1))
  const edge = appended(before, [newest])
  // The root covers all entries before it: those that were known, and each new one.
  return isSameHash(rootAt(edge), root) ? { edge, newest, path: pathAfter(before) } : undefined
}

/** Reads the edge before the last bundle out of tiles, once they have proved that the log continues the known one. */
async function provenEdge(known: LogEdge, { size, root }: Checkpoint, reader: LogReader): Promise<LogEdge> {
  const tiles = new Map<string, Promise<Uint8Array>>()
  const read = hashReader(size, async (tile) => {
    const key = tilePath(tile)
    const bytes = tiles.get(key) ?? reader.tile(tile)
    tiles.set(key, bytes)
    return bytes
  })
  try {
    if (!isSameHash(await treeRoot(size, read), root))
      throw new LogRefusedError('damaged', 'its tiles are not those that its checkpoint covers')
    const proof = await consistencyProof(known.size, size, read)
    // The signed root is that of these tiles, so the log itself has replaced an entry.
    if (known.size > 0 && !isConsistent({ size: known.size, root: rootAt(known) }, { size, root }, proof))
      throw new LogRefusedError('fork', `its ${size} entries do not begin with the ${known.size} that were seen before`)
    return await readEdge(Math.floor((size - 1) / TILE_WIDTH) * TILE_WIDTH, read)
  } catch (error) {
    if (error instanceof RangeError) throw new LogRefusedError('damaged', error.message)
    throw error
  }
}

async function entriesBetween(from: number, size: number, reader: LogReader): Promise<readonly Uint8Array[]> {
  const entries: Uint8Array[] = []
  for (let index = Math.floor(from / TILE_WIDTH); index * TILE_WIDTH < size; index += 1) {
    const width = Math.min(size - index * TILE_WIDTH, TILE_WIDTH)
    const found = entriesOf(await reader.entries(index, width), width)
    if (found === undefined) throw new LogRefusedError('damaged', `the bundle ${index} does not have ${width} entries`)
    entries.push(...found.slice(Math.max(from - index * TILE_WIDTH, 0)))
  }
  return entries
}
