import { expect, test } from 'vitest'
import { Damaged } from '../../../src/sync/model/sync-error.ts'
import { RETENTION } from '../../../src/sync/store/garbage-collect.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { damageObject } from '../../support/damage.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, never, numbered, publishSamples, sampleDocs, verifyCurrent } from './samples.ts'

const NOTHING: ReadonlySet<string> = new Set()
const DAY_MS = 86_400_000

test('docs read back byte for byte', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const { stored, bytes } = sampleDocs({ 'index.md': 'index', 'a/b/page.md': 'page' })

  await keepSamples(store, sampleDocs({ 'index.md': 'index', 'a/b/page.md': 'page' }))

  for (const file of stored.files) expect(await store.skills.read(stored, file)).toEqual(bytes.get(file.path))
  expect(await store.skills.damageIn(stored)).toEqual([])
})

test('docs and a skill of the same files stay as long as either is named', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const docs = sampleDocs({ 'SKILL.md': 'same' })
  await publishSamples(store, new Date(0), { skill: docs.skill, stored: docs.stored, bytes: docs.bytes })
  await publishSamples(store, new Date(DAY_MS), docs)

  await store.collect(
    { now: new Date(2 * DAY_MS), retention: { ...RETENTION, generations: 1, youngerThanMs: 0 }, keep: NOTHING },
    never(),
  )

  expect(await store.generations.numbers()).toEqual([2])
  expect(await verifyCurrent(store)).toBe(2)
})

test('damaged docs are never given out, are named, and are whole once they are kept again', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const docs = sampleDocs({ 'index.md': 'index' })
  await keepSamples(store, docs)
  damageObject(store, docs.stored.files[0]!.sha256)

  await expect(store.skills.read(docs.stored, docs.stored.files[0]!)).rejects.toThrow(Damaged)
  expect(await store.skills.damageIn(docs.stored)).toEqual([{ path: 'index.md', problem: 'its SHA-256 is another' }])
  await keepSamples(store, docs)

  expect(await store.skills.damageIn(docs.stored)).toEqual([])
})

test('docs stay as long as a kept snapshot names them, and go with the last one', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const versions = [1, 2, 3, 4, 5].map((number) => sampleDocs({ 'index.md': `version ${number}` }))
  for (const [day, docs] of versions.entries()) await publishSamples(store, new Date(day * DAY_MS), numbered(1), docs)

  const collected = await store.collect({ now: new Date(9 * DAY_MS), retention: RETENTION, keep: NOTHING }, never())

  // Per forgotten generation: itself, its snapshot and its page.
  expect(collected).toMatchObject({ generations: 2, objects: 6 })
  const damaged = await Promise.all(versions.map(({ stored }) => store.skills.damageIn(stored)))
  expect(damaged.map(({ length }) => length)).toEqual([1, 1, 0, 0, 0])
  expect(await verifyCurrent(store)).toBe(5)
})

test('docs count towards the disk budget', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publishSamples(store, new Date(), numbered(1))
  await store.collect({ now: new Date(), retention: RETENTION, keep: NOTHING }, never())
  const before = store.bytes

  await publishSamples(store, new Date(), numbered(1), sampleDocs({ 'large.md': 'x'.repeat(1_000_000) }))
  await store.collect({ now: new Date(), retention: RETENTION, keep: NOTHING }, never())

  expect(store.bytes - before).toBeGreaterThan(950_000)
})
