import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { numbered, publishSamples, snapshotOf, sourceId } from './samples.ts'

const NOW = new Date('2026-01-02T03:04:05.006Z')

test('a store that never published serves nothing', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)

  expect(await store.generations.current()).toBeUndefined()
  expect(await store.generations.read(1)).toBeUndefined()
})

test('what was published last is current, for this process and for the next', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  const held = await publishSamples(store, NOW, numbered(2))

  const current = await (await Store.open(folder.path)).generations.current()

  expect(current).toEqual({ number: 2, createdAt: '2026-01-02T03:04:05.006Z', sources: [held] })
  expect(await store.generations.current()).toEqual(current)
  expect(await readFile(join(folder.path, 'current'), 'utf8')).toBe('2\n')
  expect(await readdir(join(folder.path, 'generations'))).toEqual(['1.json', '2.json'])
})

test('publishes at once are numbered in turn, and the last is current', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)

  const published = await Promise.all(Array.from({ length: 8 }, () => store.generations.publish([], NOW)))

  expect(published.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect((await store.generations.current())?.number).toBe(8)
})

test('a publish of a snapshot that is not there is refused, and the next one succeeds', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const missing = { source: sourceId('team'), snapshot: 'a'.repeat(64) }

  const refused = store.generations.publish([missing], NOW)
  const next = store.generations.publish([], NOW)

  await expect(refused).rejects.toMatchObject({ code: 'store-failed', message: expect.stringContaining('"team"') })
  expect(await next).toMatchObject({ number: 1 })
})

test.each([
  ['empty', ''],
  ['no number', 'two\n'],
  ['a number of no generation', '7\n'],
  ['a path', '../generations/1\n'],
])('where "current" is %s, the newest whole generation is served', async (_, text) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  await writeFile(join(folder.path, 'current'), text)

  expect((await store.generations.current())?.number).toBe(2)
})

test.each([
  ['is cut off', (json: string) => json.slice(0, -10)],
  ['is empty', () => ''],
  ['has the number of another', (json: string) => json.replace('"number":2', '"number":1')],
  ['names a snapshot by a path', (json: string) => json.replace(/"snapshot":"\w+"/, '"snapshot":"../../x"')],
  ['names a source that cannot be', (json: string) => json.replace('"team"', '"../x"')],
  ['has no time', (json: string) => json.replace(NOW.toISOString(), 'yesterday')],
])('where the current generation %s, the newest whole one is served', async (_, damage) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  const file = join(folder.path, 'generations', '2.json')
  await writeFile(file, damage(await readFile(file, 'utf8')))

  expect((await store.generations.current())?.number).toBe(1)
  expect(await store.generations.read(2)).toBeUndefined()
})

test('a generation whose snapshot is gone is not served', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  const { snapshot } = await publishSamples(store, NOW, numbered(2))
  await rm(join(folder.path, 'snapshots', `${snapshot}.json`))

  expect((await store.generations.current())?.number).toBe(1)
})

test('a number is never used twice, even where its generation is gone', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  await rm(join(folder.path, 'generations', '2.json'))

  const next = await store.generations.publish([], NOW)

  expect(next.number).toBe(3)
})

test('a generation that a killed process wrote and never made current is passed over', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  const current = await readFile(join(folder.path, 'current'))
  await publishSamples(store, NOW, numbered(2))
  await writeFile(join(folder.path, 'current'), current)

  const before = (await store.generations.current())?.number
  const snapshot = await store.snapshots.keep(snapshotOf())
  const next = await store.generations.publish([{ source: sourceId('team'), snapshot }], NOW)

  expect([before, next.number, (await store.generations.current())?.number]).toEqual([1, 3, 3])
})
