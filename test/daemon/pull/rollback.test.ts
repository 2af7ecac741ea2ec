import { expect, test } from 'vitest'
import { heldInGeneration } from '../../../src/daemon/pull/rollback.ts'
import type { Source } from '../../../src/sync/model/source.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never, objectId, snapshotOf, sourceId } from '../../sync/store/samples.ts'

/** Publishes what each of these sources has at a commit, which is the digit so many times. */
async function publish(store: Store, commits: Readonly<Record<string, number>>): Promise<void> {
  const entries = Object.entries(commits).map(async ([id, digit]) => {
    const revision = { asked: 'main', ref: 'refs/heads/main', commit: objectId(`${digit}`.repeat(40)) }
    const source = sourceId(id)
    return { source, snapshot: await store.snapshots.keep({ ...snapshotOf(), source, revision }) }
  })
  await store.generations.publish(await Promise.all(entries), new Date())
}

/** Forgets the contents of all generations but the newest ones. */
async function keepOnly(store: Store, generations: number): Promise<void> {
  await store.collect(
    { now: new Date(), retention: { generations, youngerThanMs: -1, bytes: 2 ** 33 }, keep: new Set() },
    never(),
  )
}

const SOURCES = [
  { kind: 'git', id: sourceId('team') },
  { kind: 'directory', id: sourceId('folder') },
  { kind: 'mcp', id: sourceId('server') },
  { kind: 'channel', id: sourceId('hub') },
].map((source) => source as Source)

test('the way back to a generation that is gone names the commits that can be fetched', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publish(store, { team: 1, folder: 1, server: 1, hub: 1 })
  await publish(store, { team: 2, folder: 2, server: 2, hub: 2 })
  await keepOnly(store, 1)

  await expect(heldInGeneration(store, 1, () => undefined, SOURCES)).rejects.toMatchObject({
    code: 'unknown-generation',
    message: expect.stringMatching(/^The contents of generation 1 of \S+Z are gone; kept are 2$/),
    fix: `Each source at its commit of then: skillsyncd rollback team ${'1'.repeat(40)}; skillsyncd rollback hub ${'1'.repeat(40)}`,
  })
})

test('the way back names the commit of a folder that a kept generation has too', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publish(store, { folder: 1, server: 1 })
  await publish(store, { folder: 1, server: 2 })
  await publish(store, { folder: 2, server: 2 })
  await keepOnly(store, 2)

  await expect(heldInGeneration(store, 1, () => undefined, SOURCES)).rejects.toMatchObject({
    message: expect.stringContaining('are gone; kept are 3, 2'),
    fix: `Each source at its commit of then: skillsyncd rollback folder ${'1'.repeat(40)}`,
  })
})

test('without a way back, the log is named', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  await publish(store, { folder: 1 })
  await publish(store, { folder: 2 })
  await keepOnly(store, 1)

  await expect(heldInGeneration(store, 1, () => undefined, SOURCES)).rejects.toMatchObject({
    fix: 'skillsyncd log names the generations that are kept, and the commits of all',
  })
})

test('a store without generations says that none is kept', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)

  await expect(heldInGeneration(store, 7, () => undefined, SOURCES)).rejects.toMatchObject({
    code: 'unknown-generation',
    message: 'There is no generation 7; none is kept',
  })
})
