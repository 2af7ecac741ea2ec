import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChannelLog } from '../../../../src/features/channel/content/channel-log.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { bundleOf } from '../../../../src/sync/transparency-log/tiles.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('a bundle has the entries of its index and width, whatever was read before', async () => {
  await using folder = await temporaryFolder()
  const log = await ChannelLog.open(join(folder.path, 'channel.jsonl'))
  const entries = Array.from({ length: 260 }, (_, index) => ({
    at: '2026-06-15T12:00:00.000Z',
    head: String(index).padStart(64, '0'),
  }))
  const bundle = (from: number, to: number): Uint8Array => bundleOf(entries.slice(from, to).map(encodeEntry))

  for (const [index, entry] of entries.entries()) {
    await log.append(entry)
    const tile = { index: Math.floor(index / 256), width: (index % 256) + 1 }
    expect(log.entries(tile)).toEqual(bundle(tile.index * 256, index + 1))
  }

  expect(log.entries({ index: 0, width: 4 })).toEqual(bundle(0, 4))
  expect(log.entries({ index: 1, width: 4 })).toEqual(bundle(256, 260))
  expect(log.entries({ index: 1, width: 4 })).toBe(log.entries({ index: 1, width: 4 }))
})
