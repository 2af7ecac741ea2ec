import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LostFolders } from '../../../src/daemon/pull/missing-folders.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, numbered, sampleDocs, snapshotOf, type Sample } from '../../sync/store/samples.ts'

/** By which nothing changed lately. */
const LATER = { now: () => new Date(Date.now() + 3_600_000) }

test.each<readonly [string, Sample]>([
  ['a skill', numbered(1)],
  ['the docs', sampleDocs({ 'guide.md': 'read me' })],
])('the folder of %s that goes after a look that found it is lost at the next one', async (_, kept) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const samples = [numbered(2), kept]
  await keepSamples(store, ...samples)
  const snapshot = snapshotOf(...samples)
  const lost = new LostFolders(store.skills, LATER)

  const before = [await lost.hasLost(snapshot), await lost.hasLost(snapshot)]
  await tickOf(folder.path)
  await rm(join(folder.path, kept.stored.place, kept.stored.digest), { recursive: true })
  const after = [await lost.hasLost(snapshot), await lost.hasLost(snapshot)]
  await keepSamples(store, kept)

  expect(before).toEqual([false, false])
  expect(after).toEqual([true, true])
  expect(await lost.hasLost(snapshot)).toBe(false)
})

test('what another snapshot of the source has is looked for, although nothing came or went', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  await keepSamples(store, numbered(1))
  const lost = new LostFolders(store.skills, LATER)
  const found = await lost.hasLost(snapshotOf(numbered(1)))

  const next = await lost.hasLost(snapshotOf(numbered(1), numbered(2)))

  expect([found, next]).toEqual([false, true])
})

test.each([
  ['within one tick of', 'seen', 1, true],
  ['long after', 'not seen', 3_600_000, false],
])('what goes %s another change and leaves the mark as it was is %s', async (_, _seen, sinceMs, isSeen) => {
  const { skill } = numbered(1)
  const there = [skill.digest!]
  // A disk whose clock stands still.
  const disk = { mark: async () => ({ text: 'the same', changedMs: 0 }), digests: async () => there }
  const lost = new LostFolders(disk, { now: () => new Date(sinceMs) })
  const snapshot = snapshotOf(numbered(1))
  const before = await lost.hasLost(snapshot)

  there.length = 0

  expect(before).toBe(false)
  expect(await lost.hasLost(snapshot)).toBe(isSeen)
})

/** Resolves when the disk's clock has gone on. */
async function tickOf(folder: string): Promise<void> {
  const file = join(folder, 'tick')
  await writeFile(file, '')
  const { ctimeNs } = await stat(file, { bigint: true })
  do await writeFile(file, 'x')
  while ((await stat(file, { bigint: true })).ctimeNs === ctimeNs)
}
