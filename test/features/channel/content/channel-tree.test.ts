import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChannelContents } from '../../../../src/features/channel/content/channel-contents.ts'
import { objectsOf } from '../../../../src/features/channel/content/channel-tree.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, never, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import type { Sample } from '../../../sync/store/samples.ts'
import { sha256, skillNamed } from '../follow/site.ts'

const DISABLED = new Map()

async function keep(store: Store, content: Readonly<Record<string, readonly Sample[]>>) {
  await keepSamples(store, ...Object.values(content).flat())
  const snapshots = Object.entries(content).map(([id, samples]) =>
    Object.assign(snapshotOf(...samples), { source: sourceId(id) }),
  )
  return new ChannelContents(store.objects).keep({ snapshots, disabled: DISABLED, earlier: [], recalls: [] }, never())
}

test('a head names all that was stored for it, also if a file has the bytes of a list', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(join(folder.path, 'state'))
  const skills = [skillNamed('one', 'text'), skillNamed('two')]
  const [list = ''] = (await keep(store, { b: skills })).lists
  const copy = Buffer.from((await store.objects.get(list)) ?? []).toString()

  const kept = await keep(store, { a: [skillNamed('copy', '', { 'list.json': copy })], b: skills })

  expect(kept.lists).toContain(sha256(Buffer.from(copy)))
  expect(await objectsOf([kept.head], store.objects)).toEqual(kept.named)
})

test('of a head that is not whole, what is there is found, and the other heads whole', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(join(folder.path, 'state'))
  const whole = await keep(store, { a: [skillNamed('one')] })
  const [lost = ''] = whole.lists
  const damaged = { get: async (digest: string) => (digest === lost ? undefined : store.objects.get(digest)) }
  const other = await keep(store, { a: [skillNamed('two')] })

  const found = await objectsOf([whole.head, other.head], damaged)

  expect(found).toEqual(other.named)
  expect(await objectsOf([whole.head, other.head], store.objects)).toEqual(whole.named.union(other.named))
})
