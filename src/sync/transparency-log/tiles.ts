import { HASH_BYTES, nodeHash } from './merkle-tree.ts'
import type { ReadHash, Subtree } from './merkle-tree.ts'

/** The hashes of one tile of full width (c2sp.org/tlog-tiles). */
export const TILE_WIDTH = 256
const TILE_HEIGHT = 8

/** A tile of the tree: consecutive hashes at one level, by eights. */
export interface Tile {
  /** 0 for the hashes of entries; one more for every eight levels of the tree. */
  readonly level: number
  readonly index: number
  /** The number of its hashes, 1 to 256. A tile below 256 is partial. */
  readonly width: number
}

/** The path of a tile below the address of the log. */
export function tilePath({ level, index, width }: Tile): string {
  return `tile/${level}/${indexPath(index)}${partialPath(width)}`
}

/** The path of the entries whose hashes are the tile of level 0 with this index and width. */
export function entriesPath({ index, width }: Pick<Tile, 'index' | 'width'>): string {
  return `tile/entries/${indexPath(index)}${partialPath(width)}`
}

/** The index in groups of three digits, all but the last after an `x`. */
function indexPath(index: number): string {
  const groups = [String(index % 1_000).padStart(3, '0')]
  for (let rest = Math.floor(index / 1_000); rest > 0; rest = Math.floor(rest / 1_000))
    groups.unshift(`x${String(rest % 1_000).padStart(3, '0')}`)
  return groups.join('/')
}

function partialPath(width: number): string {
  return width === TILE_WIDTH ? '' : `.p/${width}`
}

/** Reads the path of a tile or of a bundle of entries; `undefined` if it is none, or written in another way. */
export function parseTilePath(path: string): { readonly kind: 'tile' | 'entries'; readonly tile: Tile } | undefined {
  const [, place = '', groups = '', partial] =
    /^tile\/(entries|\d|[1-5]\d)\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  if (place === '') return undefined
  const index = Number(groups.replaceAll(/[x/]/g, ''))
  const width = partial === undefined ? TILE_WIDTH : Number(partial)
  const tile = { level: place === 'entries' ? 0 : Number(place), index, width }
  const written = place === 'entries' ? entriesPath(tile) : tilePath(tile)
  if (written !== path || width > TILE_WIDTH) return undefined
  return { kind: place === 'entries' ? 'entries' : 'tile', tile }
}

/** The tiles that a tree of this size has and one of `from` has not: full ones, and the partial one of each level. */
export function tilesBetween(from: number, size: number): Tile[] {
  const tiles: Tile[] = []
  for (let level = 0, [had, has] = [from, size]; has > 0; level += 1) {
    for (let index = Math.floor(had / TILE_WIDTH); index * TILE_WIDTH < has; index += 1) {
      const width = Math.min(has - index * TILE_WIDTH, TILE_WIDTH)
      if (had < index * TILE_WIDTH + width) tiles.push({ level, index, width })
    }
    ;[had, has] = [Math.floor(had / TILE_WIDTH), Math.floor(has / TILE_WIDTH)]
  }
  return tiles
}

/** The bytes of a tile, from the hashes of the tree. */
export async function tileBytes({ level, index, width }: Tile, read: ReadHash): Promise<Buffer> {
  const hashes: Uint8Array[] = []
  for (let at = 0; at < width; at += 1)
    hashes.push(await read({ level: level * TILE_HEIGHT, index: index * TILE_WIDTH + at }))
  return Buffer.concat(hashes)
}

/** The tile of a tree of this size that has the hash of a complete subtree, or the hashes below it. */
export function tileOf({ level, index }: Subtree, size: number): Tile {
  const tileLevel = Math.floor(level / TILE_HEIGHT)
  const first = index * 2 ** (level % TILE_HEIGHT)
  const tileIndex = Math.floor(first / TILE_WIDTH)
  const hashes = Math.floor(size / TILE_WIDTH ** tileLevel)
  return { level: tileLevel, index: tileIndex, width: Math.min(hashes - tileIndex * TILE_WIDTH, TILE_WIDTH) }
}

/** Reads hashes of a tree of this size out of its tiles. */
export function hashReader(size: number, readTile: (tile: Tile) => Promise<Uint8Array>): ReadHash {
  return async (subtree) => {
    const tile = tileOf(subtree, size)
    const bytes = await readTile(tile)
    const count = 2 ** (subtree.level % TILE_HEIGHT)
    const first = subtree.index * count - tile.index * TILE_WIDTH
    if (first + count > tile.width || bytes.length !== tile.width * HASH_BYTES)
      throw new RangeError(`The tile ${tilePath(tile)} has not the hashes of a tree of ${size}`)
    let hashes = Array.from({ length: count }, (_, at) =>
      bytes.subarray((first + at) * HASH_BYTES, (first + at + 1) * HASH_BYTES),
    )
    while (hashes.length > 1) hashes = paired(hashes)
    return hashes[0] ?? bytes
  }
}

function paired(hashes: readonly Uint8Array[]): Uint8Array[] {
  return hashes.flatMap((left, at) => {
    const right = hashes[at + 1]
    return at % 2 === 0 && right !== undefined ? [nodeHash(left, right)] : []
  })
}

/** The longest entry that a bundle can have. */
export const MOST_ENTRY_BYTES = 2 ** 16 - 1

/** The bytes of a bundle: each entry after its length, two bytes, big-endian. */
export function bundleOf(entries: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      if (entry.length > MOST_ENTRY_BYTES)
        throw new RangeError(`An entry of a log has at most ${MOST_ENTRY_BYTES} bytes`)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(entry.length)
      return [length, entry]
    }),
  )
}

/** The first entries of a bundle, as the bundle of this width has them. A damaged one is returned as it is. */
export function bundlePrefix(bundle: Uint8Array, width: number): Uint8Array {
  const view = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength)
  let end = 0
  for (let count = 0; count < width && end + 2 <= view.length; count += 1) end += 2 + view.readUInt16BE(end)
  return view.subarray(0, end)
}

/** The entries of a bundle of this width; `undefined` if it has another number of them. */
export function entriesOf(bundle: Uint8Array, width: number): readonly Uint8Array[] | undefined {
  const view = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength)
  const entries: Uint8Array[] = []
  let at = 0
  while (at + 2 <= view.length && entries.length < width) {
    const end = at + 2 + view.readUInt16BE(at)
    if (end > view.length) return undefined
    entries.push(view.subarray(at + 2, end))
    at = end
  }
  return at === view.length && entries.length === width ? entries : undefined
}
