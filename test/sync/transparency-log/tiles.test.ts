import { expect, test } from 'vitest'
import { leafHash, nodeHash, treeRoot } from '../../../src/sync/transparency-log/merkle-tree.ts'
import type { ReadHash } from '../../../src/sync/transparency-log/merkle-tree.ts'
import {
  bundleOf,
  entriesOf,
  entriesPath,
  hashReader,
  tileBytes,
  tilePath,
  tilesBetween,
} from '../../../src/sync/transparency-log/tiles.ts'

test.each([
  [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
  [{ level: 1, index: 1_234_067, width: 256 }, 'tile/1/x001/x234/067'],
  [{ level: 0, index: 1_000, width: 7 }, 'tile/0/x001/000.p/7'],
])('the path of %j is %s', (tile, path) => {
  expect(tilePath(tile)).toBe(path)
})

test('the path of entries is that of their tile, without a level', () => {
  expect(entriesPath({ index: 67, width: 12 })).toBe('tile/entries/067.p/12')
})

test('a tree of 70,000 entries has the tiles of the example in the specification', () => {
  const tiles = tilesBetween(0, 70_000)
  const shape = (level: number): readonly number[] =>
    tiles.filter((tile) => tile.level === level).map(({ width }) => width)

  expect(shape(0)).toEqual([...Array.from({ length: 273 }, () => 256), 112])
  expect(shape(1)).toEqual([256, 17])
  expect(shape(2)).toEqual([1])
  expect(tiles).toHaveLength(277)
  expect(tilesBetween(0, 256)).toEqual([
    { level: 0, index: 0, width: 256 },
    { level: 1, index: 0, width: 1 },
  ])
})

test('the tiles of each growth step are enough to read every hash of the tree', async () => {
  const size = 700
  const levels: Uint8Array[][] = [Array.from({ length: size }, (_, index) => leafHash(Buffer.from(`entry ${index}`)))]
  for (let below = levels[0]!; below.length > 1; below = levels.at(-1)!)
    levels.push(
      below.flatMap((left, at) => (at % 2 === 0 && at + 1 < below.length ? [nodeHash(left, below[at + 1]!)] : [])),
    )
  const known: ReadHash = async ({ level, index }) => levels[level]![index]!
  const stored = new Map<string, Uint8Array>()

  for (const [from, to] of [
    [0, 1],
    [1, 255],
    [255, 256],
    [256, 300],
    [300, 512],
    [512, size],
  ] as const) {
    for (const tile of tilesBetween(from, to)) stored.set(tilePath(tile), await tileBytes(tile, known))
    const read = hashReader(to, async (tile) => stored.get(tilePath(tile))!)
    expect(await treeRoot(to, read), `${from} to ${to}`).toEqual(await treeRoot(to, known))
  }
})

test('a bundle is read as the entries that it was made of, and as no others', () => {
  const entries = ['', 'a', 'b'.repeat(65_535)].map((text) => Buffer.from(text))
  const bundle = bundleOf(entries)

  expect(entriesOf(bundle, 3)).toEqual(entries)
  expect(entriesOf(bundle, 2)).toBeUndefined()
  expect(entriesOf(bundle, 4)).toBeUndefined()
  expect(entriesOf(bundle.subarray(0, -1), 3)).toBeUndefined()
  expect(entriesOf(Buffer.concat([bundle, Buffer.of(0)]), 3)).toBeUndefined()
  expect(() => bundleOf([Buffer.alloc(65_536)])).toThrow('at most 65535 bytes')
})
