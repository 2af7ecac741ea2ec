import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LogRefusedError } from '../../../src/sync/transparency-log/follow-log.ts'
import type { LogReader } from '../../../src/sync/transparency-log/follow-log.ts'
import { LogHashes } from '../../../src/sync/transparency-log/log-hashes.ts'
import { isIncluded, leafHash, treeRoot } from '../../../src/sync/transparency-log/merkle-tree.ts'
import { auditLog, proveEntry } from '../../../src/sync/transparency-log/prove-entry.ts'
import { bundleOf, tileBytes, TILE_WIDTH } from '../../../src/sync/transparency-log/tiles.ts'
import { never } from '../store/samples.ts'

const entry = (index: number): Buffer => Buffer.from(`entry ${index}`)
const ENTRIES = Array.from({ length: 70_000 }, (_, index) => entry(index))
const LOG = new LogHashes()
for (const one of ENTRIES) LOG.append(one)

const READER: LogReader = {
  tile: async (tile) => tileBytes(tile, LOG.read),
  entries: async (index, width) => bundleOf(ENTRIES.slice(index * TILE_WIDTH, index * TILE_WIDTH + width)),
}

const head = async (size: number) => ({ size, root: await treeRoot(size, LOG.read) })

test('tiles prove any entry of a log of any size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: ENTRIES.length }), fc.nat(), async (size, at) => {
      const index = at % size
      const checkpoint = await head(size)

      const proved = await proveEntry(index, checkpoint, READER)

      expect(Buffer.from(proved.entry)).toEqual(entry(index))
      expect(isIncluded({ ...checkpoint, index, leaf: leafHash(entry(index)) }, proved.hashes)).toBe(true)
    }),
  )
})

test('an entry that the checkpoint does not cover, and one behind its end, are refused', async () => {
  const checkpoint = { ...(await head(300)), root: await treeRoot(299, LOG.read) }

  await expect(proveEntry(7, checkpoint, READER)).rejects.toMatchObject({ kind: 'damaged' })
  await expect(proveEntry(300, await head(300), READER)).rejects.toMatchObject({ kind: 'damaged' })
})

test.each([1, 255, 256, 257, 600, 65_536, 66_000])('an audit reads each of %i entries once', async (size) => {
  const seen: number[] = []
  const onEntry = (bytes: Uint8Array, index: number): void => {
    if (Buffer.from(bytes).equals(entry(index))) seen.push(index)
  }

  expect(await auditLog(await head(size), { reader: READER, onEntry, signal: never() })).toEqual({
    differences: [],
    isForked: false,
  })
  expect(seen).toEqual(Array.from({ length: size }, (_, index) => index))
})

test('an audit finds any wrong byte of a tile or of a bundle', async () => {
  const checkpoint = await head(700)
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.nat(3),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (isTile, of, at, by) => {
        let read = 0
        const wrong = (bytes: Uint8Array): Uint8Array => {
          const copy = Buffer.from(bytes)
          if (read === of % (isTile ? 4 : 3)) copy[at % copy.length] = ((copy[at % copy.length] ?? 0) + by) % 256
          read += 1
          return copy
        }
        const reader: LogReader = {
          tile: async (tile) => (isTile ? wrong(await READER.tile(tile)) : READER.tile(tile)),
          entries: async (index, width) =>
            isTile ? READER.entries(index, width) : wrong(await READER.entries(index, width)),
        }
        const { differences } = await auditLog(checkpoint, { reader, onEntry: () => {}, signal: never() }).catch(
          (error: unknown) => {
            if (error instanceof LogRefusedError) return { differences: [error.message] }
            throw error
          },
        )
        const wanted = isTile ? /^"tile\/[01]\/\S+" has not the hashes of its entries$/ : /./
        expect(differences.join('\n')).toMatch(wanted)
      },
    ),
  )
})
