import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Checkpoint } from '../../../src/sync/transparency-log/checkpoint.ts'
import { followLog, LogRefusedError } from '../../../src/sync/transparency-log/follow-log.ts'
import type { LogReader } from '../../../src/sync/transparency-log/follow-log.ts'
import {
  appended,
  EMPTY_EDGE,
  isEdge,
  pathAfter,
  readEdge,
  rootAt,
} from '../../../src/sync/transparency-log/log-edge.ts'
import { LogHashes } from '../../../src/sync/transparency-log/log-hashes.ts'
import { treeRoot } from '../../../src/sync/transparency-log/merkle-tree.ts'
import { bundleOf, tileBytes } from '../../../src/sync/transparency-log/tiles.ts'

/** A log with these entries, as a server has it. */
function logOf(entries: readonly Buffer[]) {
  const hashes = new LogHashes()
  for (const entry of entries) hashes.append(entry)
  const requests: string[] = []
  const reader: LogReader = {
    tile: async (tile) => {
      requests.push(`tile ${tile.level}/${tile.index}`)
      return tileBytes(tile, hashes.read)
    },
    entries: async (index, width) => {
      requests.push(`entries ${index}`)
      return bundleOf(entries.slice(index * 256, index * 256 + width))
    },
  }
  const checkpoint = async (size: number): Promise<Checkpoint> => {
    return { origin: 'example.com/log', size, root: await treeRoot(size, hashes.read) }
  }
  return { entries, hashes, reader, requests, checkpoint }
}

function entriesNamed(name: string, count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(`${name} ${index}`))
}

test('the edge of a log of any size has its root, appended or read', async () => {
  const { entries, hashes } = logOf(entriesNamed('entry', 300))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 300 }), async (a, b) => {
      const [from, size] = [Math.min(a, b), Math.max(a, b)]
      const edge = appended(await readEdge(from, hashes.read), entries.slice(from, size))

      expect(edge).toEqual(await readEdge(size, hashes.read))
      expect(isEdge(edge)).toBe(true)
      expect(Buffer.from(rootAt(edge)).equals(await treeRoot(size, hashes.read))).toBe(true)
    }),
  )
})

test('an edge with a hash too few is none', () => {
  expect(isEdge({ size: 3, hashes: [Buffer.alloc(32)] })).toBe(false)
  expect(isEdge({ size: -1, hashes: [] })).toBe(false)
})

test.each([
  [0, 1],
  [0, 256],
  [0, 257],
  [0, 700],
  [1, 2],
  [255, 256],
  [256, 257],
  [256, 700],
  [300, 1_300],
  [3, 2_600],
])('a log that was known up to %i is followed to %i', async (from, size) => {
  const { entries, reader, checkpoint } = logOf(entriesNamed('entry', size))
  const known = appended(EMPTY_EDGE, entries.slice(0, from))

  const { edge, newest } = await followLog(known, await checkpoint(size), reader)

  expect(Buffer.from(newest)).toEqual(entries[size - 1])
  expect(edge).toEqual(appended(EMPTY_EDGE, entries))
})

test('one new entry takes one request', async () => {
  const { entries, reader, requests, checkpoint } = logOf(entriesNamed('entry', 200))
  await followLog(appended(EMPTY_EDGE, entries.slice(0, 199)), await checkpoint(200), reader)

  expect(requests).toEqual(['entries 0'])
})

test('a first look at a long log reads no more than its right edge', async () => {
  const { reader, requests, checkpoint } = logOf(entriesNamed('entry', 70_000))
  await followLog(EMPTY_EDGE, await checkpoint(70_000), reader)

  expect(requests.toSorted()).toEqual(['entries 273', 'tile 0/273', 'tile 1/1', 'tile 2/0'])
})

test.each([
  ['in the same bundle', 100, 120],
  ['many bundles later', 100, 2_000],
])('a log that replaced an entry which was seen before has forked, %s', async (_, from, size) => {
  const entries = entriesNamed('entry', size)
  const known = appended(EMPTY_EDGE, entries.slice(0, from))
  const forked = logOf(entries.map((entry, index) => (index === 57 ? Buffer.from('another') : entry)))

  await expect(followLog(known, await forked.checkpoint(size), forked.reader)).rejects.toMatchObject({ kind: 'fork' })
})

test.each([0, 100])('entries that are not those of the checkpoint are damaged, known up to %i', async (from) => {
  const entries = entriesNamed('entry', 120)
  const { reader, checkpoint } = logOf(entries)
  const other = logOf(entries.map((entry, index) => (index === 119 ? Buffer.from('another') : entry)))
  const served: LogReader = {
    tile: async (tile) => reader.tile(tile),
    entries: async (index, width) => other.reader.entries(index, width),
  }

  const known = appended(EMPTY_EDGE, entries.slice(0, from))
  await expect(followLog(known, await checkpoint(120), served)).rejects.toMatchObject({ kind: 'damaged' })
})

test('any wrong byte of a tile or a bundle is refused, and never accepted', async () => {
  const entries = entriesNamed('entry', 600)
  const { reader, checkpoint } = logOf(entries)
  const head = await checkpoint(600)
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), fc.constantFrom(0, 200, 599), async (at, by, from) => {
      const wrong = (bytes: Uint8Array): Uint8Array => {
        const copy = Buffer.from(bytes)
        const index = at % copy.length
        copy[index] = ((copy[index] ?? 0) + by) % 256
        return copy
      }
      const isOfTile = at % 2 === 0
      const served: LogReader = {
        tile: async (tile) => (isOfTile ? wrong(await reader.tile(tile)) : reader.tile(tile)),
        entries: async (index, width) =>
          isOfTile ? reader.entries(index, width) : wrong(await reader.entries(index, width)),
      }
      const known = appended(EMPTY_EDGE, entries.slice(0, from))
      const followed = await followLog(known, head, served).catch((error: unknown) => {
        if (error instanceof LogRefusedError) return error.kind
        throw error
      })
      const path = pathAfter(appended(EMPTY_EDGE, entries.slice(0, 599)))
      const right = { edge: appended(EMPTY_EDGE, entries), newest: entries[599], path }
      expect(['damaged', right]).toContainEqual(followed)
    }),
  )
})
