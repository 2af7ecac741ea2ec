import { expect, test } from 'vitest'
import {
  channelAddressOf,
  channelName,
  channelNames,
  earlierRing,
  logFileOf,
  originOf,
  partOf,
} from '../../../src/daemon/config/channel-names.ts'
import { isLocalFile } from '../../../src/sync/store/backup/backup.ts'

const RINGS = [{ id: 'canary' }, { id: 'beta' }, { id: 'stable' }]

test('each ring but the last has a channel, beside those of the packs', () => {
  expect(channelNames({ packs: [{ id: 'web' }], rings: RINGS })).toEqual([undefined, 'web', 'ring.canary', 'ring.beta'])
  expect(RINGS.map(({ id }) => earlierRing(id, RINGS))).toEqual(['canary', 'beta', undefined])
})

test('a pack and a ring of one name have logs, files and addresses of their own', () => {
  const names = [channelName({}), channelName({ pack: 'canary' }), channelName({ ring: 'canary' })]

  expect(names.map(channelAddressOf)).toEqual(['/channel/', '/channels/canary/', '/channels/ring.canary/'])
  expect(names.map((name) => originOf({ name: 'hub.example/channel' }, name))).toEqual([
    'hub.example/channel',
    'hub.example/channel/canary',
    'hub.example/channel/ring.canary',
  ])
  expect(names.map(logFileOf)).toEqual(['channel.jsonl', 'channel.canary.jsonl', 'channel.ring.canary.jsonl'])
  expect(names.every((name) => isLocalFile(`logs/${logFileOf(name)}`))).toBe(true)
  expect(names.map(partOf)).toEqual([{}, { pack: 'canary' }, { ring: 'canary' }])
})
