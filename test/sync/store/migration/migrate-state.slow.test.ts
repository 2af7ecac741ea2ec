import { cp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Generation } from '../../../../src/sync/model/generation.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import type { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { cannot } from '../../../../src/sync/store/files/disk-error.ts'
import {
  migrateState,
  migrationFailure,
  type MigratedState,
} from '../../../../src/sync/store/migration/migrate-state.ts'
import { storedIn } from '../../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { damageFile, earlierFile, layOutEarlier, type EarlierFormat } from '../../../support/earlier-state.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { MOMENTS, isKilledIn, killAtCalls, pictureOf } from '../changes.ts'
import { never, numbered, publishSamples, sample, sampleDocs, verifyCurrent, type Sample } from '../samples.ts'

const NOW = new Date('2026-01-02T03:04:05.678Z')
const DOCS = sampleDocs({ 'index.md': 'docs', 'deep/page.md': 'page' })

/** So long that a snapshot with it has parts. */
const LONG = sample('long', { 'SKILL.md': '---\nname: long\n---\n' })
const longSkill: Sample = { ...LONG, skill: { ...LONG.skill, description: 'long '.repeat(2 ** 18) } }

/** A state folder of an earlier format, with three generations and a link of an agent. */
async function earlierState(state: string, format: EarlierFormat, ...more: readonly Sample[]): Promise<void> {
  using store = await Store.open(state)
  await publishSamples(store, NOW, numbered(1), DOCS)
  await publishSamples(store, NOW, numbered(1), numbered(2), DOCS)
  await publishSamples(store, NOW, ...more, numbered(2), numbered(3), DOCS)
  await store.checkouts.ensure(numbered(2).stored)
  await store.links.follow(new Map([['linked', numbered(2).stored]]))
  await layOutEarlier(state, format)
}

async function migrated(state: string): Promise<MigratedState> {
  using store = await Store.openExisting(state, { isWriter: true })
  await store!.sweep()
  return await migrateState(store!, { onProgress: () => {}, signal: never() })
}

interface Kept {
  readonly generations: readonly (Generation | undefined)[]
  readonly snapshots: Readonly<Record<string, Snapshot>>
}

async function keptIn(store: Store): Promise<Kept> {
  const generations = await Promise.all(
    (await store.generations.numbers()).map((number) => store.generations.read(number)),
  )
  const digests = [...(await store.snapshots.digests())].toSorted()
  const entries = digests.map(async (digest) => [digest, await store.snapshots.read(digest)] as const)
  return { generations, snapshots: Object.fromEntries(await Promise.all(entries)) }
}

test.each(['1', '2'] as const)('the state of format %s is migrated whole, digest by digest', async (format) => {
  await using folder = await temporaryFolder()
  const more = format === '2' ? [longSkill] : []
  {
    using store = await Store.open(folder.path)
    await publishSamples(store, NOW, numbered(1), DOCS)
    await publishSamples(store, NOW, ...more, numbered(2), numbered(3), DOCS)
  }
  using original = await Store.open(folder.path)
  const before = await keptIn(original)
  original[Symbol.dispose]()
  await layOutEarlier(folder.path, format)
  const parts = (await readdir(join(folder.path, 'snapshots'))).filter((name) => name.endsWith('.part'))

  const taken = await migrated(folder.path)

  using store = await Store.open(folder.path)
  expect(parts).toHaveLength(format === '2' ? 2 : 0)
  expect(taken).toMatchObject({ generations: 2, snapshots: 2, damaged: 0 })
  expect(await keptIn(store)).toEqual(before)
  expect(await verifyCurrent(store)).toBe(2)
  for (const snapshot of Object.values(before.snapshots)) await store.skills.expectWhole(storedIn(snapshot))
})

test('after a migration nothing is left of the earlier files, links lead to checkouts, and the next number is the next', async () => {
  await using folder = await temporaryFolder()
  await earlierState(folder.path, '2')

  await migrated(folder.path)

  using store = await Store.open(folder.path)
  const skill = numbered(2).stored
  const names = await readdir(folder.path)
  expect(names.filter((name) => ['skills', 'docs', 'snapshots'].includes(name))).toEqual([])
  expect(await readdir(join(folder.path, 'generations'))).toEqual([])
  expect(await readFile(join(folder.path, 'format'), 'utf8')).toBe('3\n')
  expect(await readlink(store.links.pathOf('linked'))).toBe(`../checkouts/${skill.digest}/skill-2`)
  expect(await store.checkouts.damageIn(skill)).toEqual([])
  await publishSamples(store, NOW, numbered(4))
  expect((await store.generations.current())?.number).toBe(4)
})

test('a generation that was written and not published is left out', async () => {
  await using folder = await temporaryFolder()
  await earlierState(folder.path, '2')
  await writeFile(join(folder.path, 'current'), '2\n')

  await migrated(folder.path)

  using store = await Store.open(folder.path)
  expect(await store.generations.numbers()).toEqual([2, 1])
})

test('a damaged file is left out and never given, and its link goes; all else is whole', async () => {
  await using folder = await temporaryFolder()
  await earlierState(folder.path, '2')
  const { stored } = numbered(2)
  await damageFile(earlierFile(folder.path, stored, 'SKILL.md'))
  await rm(earlierFile(folder.path, stored, 'references/deep/own.md'))

  const { damaged } = await migrated(folder.path)

  using store = await Store.open(folder.path)
  const document = stored.files.find(({ path }) => path === 'SKILL.md')
  expect(damaged).toBeGreaterThanOrEqual(2)
  expect(await store.generations.numbers()).toEqual([3, 2, 1])
  await expect(store.skills.read(stored, document!)).rejects.toThrow('it is gone')
  await expect(store.skills.expectWhole([stored])).rejects.toThrow('it is gone')
  await store.skills.expectWhole([numbered(1).stored, numbered(3).stored, DOCS.stored])
  expect(await readdir(store.folder.at('links'))).toEqual([])
  expect(await store.checkouts.has(stored)).toBe(false)
})

test.each(['.json', '.part'])(
  'a snapshot of which the %s file is damaged is left out, and an older one is served',
  async (extension) => {
    await using folder = await temporaryFolder()
    await earlierState(folder.path, '2', longSkill)
    const snapshots = join(folder.path, 'snapshots')
    const newest = JSON.parse(await readFile(join(folder.path, 'generations', '3.json'), 'utf8')).sources[0].snapshot
    const { parts } = JSON.parse(await readFile(join(snapshots, `${newest}.json`), 'utf8'))
    await damageFile(join(snapshots, `${extension === '.json' ? newest : parts[0]}${extension}`))

    const taken = await migrated(folder.path)

    using store = await Store.open(folder.path)
    expect(taken.snapshots).toBe(2)
    expect(await store.snapshots.readWhole(newest)).toBeUndefined()
    expect(await verifyCurrent(store)).toBe(2)
  },
)

test('what an earlier program published after a migration was killed is what counts', async () => {
  await using folder = await temporaryFolder()
  await using begun = await temporaryFolder()
  await earlierState(folder.path, '2')
  await cp(folder.path, begun.path, { recursive: true, verbatimSymlinks: true })
  await rm(join(begun.path, 'generations', '3.json'))
  await writeFile(join(begun.path, 'current'), '2\n')
  await migrated(begun.path)
  await cp(join(begun.path, 'store.db'), join(folder.path, 'store.db'))

  await migrated(folder.path)

  using store = await Store.open(folder.path)
  expect(await store.generations.numbers()).toEqual([3, 2, 1])
  expect(await verifyCurrent(store)).toBe(3)
})

test('an earlier state is read by nobody but the writer that takes it over', async () => {
  await using folder = await temporaryFolder()
  await earlierState(folder.path, '2')

  await expect(Store.openExisting(folder.path)).rejects.toThrow('the daemon migrates it when it starts')
  await expect(Store.open(folder.path)).rejects.toThrow('the daemon migrates it when it starts')
})

test.each(MOMENTS)(
  'a migration that is killed %s any call begins again and comes to the same state',
  async (moment) => {
    await using first = await temporaryFolder()
    await earlierState(first.path, '2')
    await using whole = await temporaryFolder()
    await cp(first.path, whole.path, { recursive: true, verbatimSymlinks: true })
    await migrated(whole.path)
    const [before, wanted] = [await foundIn(first.path), await pictureOf(whole.path)]

    const calls = await killAtCalls(async (call) => {
      await using folder = await temporaryFolder()
      const state = folder.path
      await cp(first.path, state, { recursive: true, verbatimSymlinks: true })
      const isKilled = await isKilledIn({ work: 'migration', state }, { call, moment })
      expect([WHOLE, before], `killed ${moment} call ${call}`).toContainEqual(await foundIn(state))
      await openedAgain(state)

      expect(await pictureOf(state), `killed ${moment} call ${call}`).toEqual(wanted)
      return isKilled
    })

    expect(calls).toBeGreaterThan(40)
  },
)

/** Does what the next start does. */
async function openedAgain(state: string): Promise<void> {
  using store = await Store.openExisting(state, { isWriter: true })
  await store!.sweep()
  if (store!.folder.isEarlier) await migrateState(store!, { onProgress: () => {}, signal: never() })
}

const WHOLE = ['generation 3 of 3,2,1']

/** The earlier files, and what is served as soon as the format is the new one. */
async function foundIn(state: string): Promise<readonly string[]> {
  if ((await readFile(join(state, 'format'), 'utf8')) !== '3\n') return earlierFilesIn(state)
  using store = await Store.open(state)
  return [`generation ${await verifyCurrent(store)} of ${(await store.generations.numbers()).join(',')}`]
}

async function earlierFilesIn(state: string): Promise<string[]> {
  const folders = ['skills', 'docs', 'snapshots', 'generations']
  const names = await Promise.all(folders.map((folder) => readdir(join(state, folder), { recursive: true })))
  return [...names.flat(), await readFile(join(state, 'current'), 'utf8')].toSorted()
}

test('a migration that a full disk refuses says how much space it takes', async () => {
  await using folder = await temporaryFolder()
  await earlierState(folder.path, '2')
  const refused = await writeFile('/dev/full', 'x')
    .catch(cannot('write "/dev/full"'))
    .catch((error: unknown) => error)

  const failure = await migrationFailure(folder.path, refused as SyncError)

  expect(failure).toMatchObject({
    code: 'store-failed',
    message: expect.stringMatching(/^Cannot migrate the state folder ".*": .*ENOSPC.*; a migration takes about 21 MB/),
    fix: expect.stringMatching(/^Free space/),
  })
})
