import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { GenerationEntry } from '../../../src/sync/model/generation.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { numbered, publishSamples, sourceId } from './samples.ts'

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
  expect(await store.generations.numbers()).toEqual([2, 1])
})

test('a generation that is served already, or an earlier one, is not adopted', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  const heads = await store.objects.heads()

  const adopted = await Promise.all(heads.map(async (head) => store.generations.adopt(head)))

  expect(adopted).toEqual([false, false])
  expect(await store.objects.heads()).toEqual(heads)
  expect(await store.generations.current()).toMatchObject({ number: 2 })
})

/** So many sources with one snapshot. */
async function manySources(store: Store, count: number): Promise<GenerationEntry[]> {
  const { snapshot } = await publishSamples(store, NOW, numbered(1))
  return Array.from({ length: count }, (_, at) => ({ source: sourceId(`source-${1_000 + at}`), snapshot }))
}

/** The number of objects that the work adds to the store. */
async function objectsAddedBy(store: Store, work: () => Promise<unknown>): Promise<number> {
  const before = await countOf(store)
  await work()
  return (await countOf(store)) - before
}

async function countOf(store: Store): Promise<number> {
  let count = 0
  for await (const _ of store.objects.all()) count += 1
  return count
}

/** The digest of the first part of the served generation. */
async function partOfServed(store: Store): Promise<string> {
  const [head] = await store.objects.heads()
  const [, part] = (await store.generations.outline(head!))!.objects
  return part!
}

test('of a generation with many sources, the next one writes only what changed', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const sources = await manySources(store, 1_000)
  const { snapshot } = await publishSamples(store, NOW, numbered(2))
  const publish = async (held: readonly GenerationEntry[]): Promise<unknown> => store.generations.publish(held, NOW)
  const changed = sources.with(500, { source: sources[500]!.source, snapshot })

  const parts = await objectsAddedBy(store, () => publish(sources))
  const afterChange = await objectsAddedBy(store, () => publish(changed))
  const afterRemoval = await objectsAddedBy(store, () => publish(changed.toSpliced(200, 1)))

  expect(parts).toBeGreaterThan(10)
  // The generation itself and the parts around the change.
  expect(afterChange).toBe(2)
  expect(afterRemoval).toBeLessThanOrEqual(3)
  const current = await (await Store.open(folder.path)).generations.current()
  expect(current?.sources).toEqual(changed.toSpliced(200, 1))
})

test('the parts of kept generations stay in a collection, and those of others go', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const sources = await manySources(store, 300)
  const alone = await countOf(store)
  await store.generations.publish(sources, NOW)
  const collectAll = async (): Promise<unknown> =>
    store.collect(
      { now: NOW, retention: { generations: 1, youngerThanMs: 0, bytes: 2 ** 30 }, keep: new Set() },
      new AbortController().signal,
    )

  await collectAll()
  const served = await store.generations.current()
  await store.generations.publish(sources.slice(0, 1), NOW)
  await collectAll()

  expect(served?.sources).toEqual(sources)
  expect(await countOf(store)).toBe(alone)
})

test('a generation that lost one of its parts is not served', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const sources = await manySources(store, 300)
  const { number } = await store.generations.publish(sources, NOW)

  loseObject(store, await partOfServed(store))

  expect(await store.generations.read(number)).toBeUndefined()
  expect((await store.generations.current())?.number).toBe(number - 1)
})

test('a part of a generation that is damaged is written anew by the next publish', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const sources = await manySources(store, 300)
  await store.generations.publish(sources, NOW)
  damageObject(store, await partOfServed(store))

  await store.generations.publish(sources, NOW)

  expect((await store.generations.current())?.sources).toEqual(sources)
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
  ['gone', undefined],
])('the head decides what is served where the file that hints at it is %s', async (_, text) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  const hint = join(folder.path, 'current')
  await (text === undefined ? rm(hint) : writeFile(hint, text))

  expect((await store.generations.current())?.number).toBe(2)
  expect((await store.generations.publish([], NOW)).number).toBe(3)
})

test.each([
  ['damaged', damageObject],
  ['gone', loseObject],
] as const)('where the generation of the head is %s, the newest whole one is served', async (_, harm) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  harm(store, (await store.objects.head())?.generation ?? '')

  expect((await store.generations.current())?.number).toBe(1)
  expect(await store.generations.read(2)).toBeUndefined()
})

test.each([
  ['is cut off', (json: string) => json.slice(0, -10)],
  ['is empty', () => ''],
  ['has the number of another', (json: string) => json.replace('"number":2', '"number":1')],
  ['names a snapshot by a path', (json: string) => json.replace(/"snapshot":"\w+"/, '"snapshot":"../../x"')],
  ['names a source that cannot be', (json: string) => json.replace('"team"', '"../x"')],
  ['has no time', (json: string) => json.replace(NOW.toISOString(), 'yesterday')],
])('an object that the head names and that %s is no generation', async (_, change) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  const head = await store.objects.head()
  const bytes = await store.objects.get(head?.generation ?? '')
  const json = Buffer.from(bytes ?? [])
    .toString('utf8')
    .replace('"number":1', '"number":2')
  const [generation = ''] = await store.objects.put([Buffer.from(change(json))])
  await store.objects.swap(head, { sequence: 2, generation })

  expect((await store.generations.current())?.number).toBe(1)
  expect(await store.generations.read(2)).toBeUndefined()
})

test('a generation whose snapshot is gone is not served', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  const { snapshot } = await publishSamples(store, NOW, numbered(2))
  loseObject(store, snapshot)

  expect((await store.generations.current())?.number).toBe(1)
})

test('a number is never used twice, even where its generation is gone', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, NOW, numbered(1))
  await publishSamples(store, NOW, numbered(2))
  loseObject(store, (await store.objects.head())?.generation ?? '')

  const next = await store.generations.publish([], NOW)

  expect(next.number).toBe(3)
})

test('a generation that a killed process wrote and never made the head is passed over', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const held = await publishSamples(store, NOW, numbered(1))
  await store.objects.put([Buffer.from(JSON.stringify({ number: 2, createdAt: NOW.toISOString(), sources: [held] }))])

  const before = (await store.generations.current())?.number
  const next = await store.generations.publish([held], NOW)

  expect([before, next.number, (await store.generations.current())?.number]).toEqual([1, 2, 2])
})
