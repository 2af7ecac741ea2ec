import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ChannelContents } from '../../../../src/features/channel/content/channel-contents.ts'
import { PackedLists } from '../../../../src/features/channel/content/packed-lists.ts'
import { unpackObjects } from '../../../../src/features/channel/content/packed-objects.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, never, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import { skillNamed } from '../follow/site.ts'

test('a list that is asked for many times, also at the same time, is packed once', async () => {
  const { lists, objects, packed } = await channelOf('one')
  const [list = ''] = lists

  const together = await Promise.all([packed.pack(list), packed.pack(list)])
  const { reads } = objects
  const later = await packed.pack(list)

  expect(together).toEqual([later, later])
  expect(objects.reads).toBe(reads)
  expect((await unpackObjects(later ?? Buffer.alloc(0), 10)).map(String)).toEqual([
    expect.stringContaining('name: one'),
  ])
})

test('a list with a damaged file is packed once the file is there again', async () => {
  const { lists, objects, packed } = await channelOf('one')
  const [list = ''] = lists
  objects.isDamaged = true

  const failures = await Promise.allSettled([packed.pack(list), packed.pack(list)])
  objects.isDamaged = false

  expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await packed.pack(list)).toBeInstanceOf(Uint8Array)
})

test('beyond its limit it drops what was asked for longest ago', async () => {
  const { lists, objects } = await channelOf('one', 'two', 'three')
  const [one = '', two = '', three = ''] = lists
  const sizes = new PackedLists(objects)
  const largest = Math.max(...(await Promise.all(lists.map(async (list) => (await sizes.pack(list))?.length ?? 0))))
  const packed = new PackedLists(objects, 2 * largest)
  const [first, second] = [await packed.pack(one), await packed.pack(two)]

  await packed.pack(one)
  await packed.pack(three)

  expect(await packed.pack(one)).toBe(first)
  expect(await packed.pack(two)).not.toBe(second)
  expect(await packed.pack(two)).toEqual(second)
})

test('lists that are out of service are dropped, also while they are packed', async () => {
  const { lists, packed } = await channelOf('one', 'two')
  const [one = '', two = ''] = lists
  const kept = await packed.pack(one)
  const packing = packed.pack(two)

  packed.keep(new Set([one]))
  const dropped = await packing

  expect(await packed.pack(one)).toBe(kept)
  expect(await packed.pack(two)).not.toBe(dropped)
  expect(await packed.pack(two)).toEqual(dropped)
})

/** A channel with a source for each of these skills, each with a list of its own. */
async function channelOf(...names: readonly string[]) {
  const folder = await temporaryFolder()
  const store = await Store.open(join(folder.path, 'state'))
  onTestFinished(async () => {
    store[Symbol.dispose]()
    await folder[Symbol.asyncDispose]()
  })
  const samples = names.map((name) => skillNamed(name))
  await keepSamples(store, ...samples)
  const snapshots = samples.map((sample, index) =>
    Object.assign(snapshotOf(sample), { source: sourceId(names[index] ?? '') }),
  )
  const contents = { snapshots, disabled: new Map(), earlier: [], recalls: [] }
  const { lists } = await new ChannelContents(store.objects).keep(contents, never())
  const objects = {
    reads: 0,
    isDamaged: false,
    async get(digest: string) {
      objects.reads += 1
      return objects.isDamaged && !lists.has(digest) ? undefined : store.objects.get(digest)
    },
  }
  return { lists: [...lists], objects, packed: new PackedLists(objects) }
}
