import { chmod, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CLAIM_MS } from '../../../src/sync/store/files/gc-leases.ts'
import { RETENTION } from '../../../src/sync/store/garbage-collect.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, never, numbered, publishSamples, sampleDocs, verifyCurrent } from './samples.ts'

const NOTHING: ReadonlySet<string> = new Set()

test('docs lie right below their digest, read-only, and read back byte for byte', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const { stored, bytes } = sampleDocs({ 'index.md': 'index', 'a/b/page.md': 'page' })

  await keepSamples(store, sampleDocs({ 'index.md': 'index', 'a/b/page.md': 'page' }))

  for (const file of stored.files) expect(await store.skills.read(stored, file)).toEqual(bytes.get(file.path))
  expect(await readFile(join(folder.path, 'docs', stored.digest, 'a/b/page.md'), 'utf8')).toBe('page')
  expect(await store.skills.inspect(stored)).toEqual({ damage: [], strangers: [] })
  expect(await readdir(join(folder.path, 'skills'))).toEqual([])
})

test('docs and a skill of the same files are two things, and either goes without the other', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const docs = sampleDocs({ 'SKILL.md': 'same' })
  const skill = { ...docs.stored, place: 'skills', folderName: 'same' } as const

  await keepSamples(store, docs)
  await keepSamples(store, { ...docs, stored: skill })

  expect([await store.skills.has(docs.stored), await store.skills.has(skill)]).toEqual([true, true])
  expect(await store.skills.digests()).toEqual(await store.skills.digests('docs'))
})

test('docs take a file from a skill that is stored, as a copy', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const { stored: skill, bytes } = numbered(1)
  await keepSamples(store, numbered(1))
  const { stored } = sampleDocs({ 'own.md': bytes.get('references/deep/own.md')!.toString() })

  await store.skills.keep(stored, () => ({ kind: 'stored', skill, path: 'references/deep/own.md' }), never())

  expect(await store.skills.has(stored)).toBe(true)
})

test('damaged docs are not read, are told apart, and are written again when they are kept again', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const docs = sampleDocs({ 'index.md': 'index' })
  await keepSamples(store, docs)
  const file = join(folder.path, 'docs', docs.stored.digest, 'index.md')
  await chmod(file, 0o644)
  await writeFile(file, 'INDEX')

  await expect(store.skills.read(docs.stored, docs.stored.files[0]!)).rejects.toThrow(/of the docs/)
  expect((await store.skills.inspect(docs.stored)).damage).toHaveLength(1)
  await keepSamples(store, docs)

  expect(await store.skills.has(docs.stored)).toBe(true)
})

test('docs stay as long as a kept snapshot names them, and go with the last one', async () => {
  await using folder = await temporaryFolder()
  let elapsedMs = 0
  const store = await Store.open(folder.path, { monotonicMs: () => elapsedMs })
  const versions = [1, 2, 3, 4, 5].map((number) => sampleDocs({ 'index.md': `version ${number}` }))
  for (const docs of versions) {
    elapsedMs += 1000 * CLAIM_MS
    await publishSamples(store, new Date(elapsedMs), numbered(1), docs)
  }
  elapsedMs += 1000 * CLAIM_MS

  const collected = await store.collect({ now: new Date(elapsedMs), retention: RETENTION, keep: NOTHING }, never())

  expect(collected).toMatchObject({ generations: 2, snapshots: 2, skills: 0, docs: 2 })
  const kept = await Promise.all(versions.map(({ stored }) => store.skills.has(stored)))
  expect(kept).toEqual([false, false, true, true, true])
  expect(await verifyCurrent(store)).toBe(5)
})

test('docs count towards the disk budget', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await publishSamples(store, new Date(), numbered(1))
  await store.collect({ now: new Date(), retention: RETENTION, keep: NOTHING }, never())
  const before = store.bytes

  await publishSamples(store, new Date(), numbered(1), sampleDocs({ 'large.md': 'x'.repeat(100_000) }))
  await store.collect({ now: new Date(), retention: RETENTION, keep: NOTHING }, never())

  expect(store.bytes - before).toBeGreaterThan(100_000)
})
