import { expect, test } from 'vitest'
import { Store } from '../../../src/sync/store/store.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { ALPHA, bodyOf, RINGS, RingScene } from './ring-scene.ts'

test('a damaged file that only a later ring serves is fetched again, from the commit of that ring', async () => {
  await using scene = await RingScene.start(RINGS)
  await using late = await scene.peer('late')
  await scene.commit('second')
  damageObject(scene.served.config.state, await documentOf(scene, 'first'))

  const { error } = await late.call('resources/read', { uri: ALPHA })

  expect(error).toBeDefined()
  await expect.poll(() => bodyIn(scene), { timeout: 20_000 }).toBe('first')
  expect(scene.served.logged()).toContain('"content-damaged"')
})

test('a repair that upstream does not allow is reported, and not tried again by each read', async () => {
  await using scene = await RingScene.start(RINGS)
  await using late = await scene.peer('late')
  await scene.commit('second')
  damageObject(scene.served.config.state, await documentOf(scene, 'first'))
  await scene.served.git[Symbol.asyncDispose]()

  await late.call('resources/read', { uri: ALPHA })
  await expect.poll(() => scene.served.logged(), { timeout: 20_000 }).toContain('"ring-not-repaired"')
  await late.call('resources/read', { uri: ALPHA })

  expect(scene.served.logged().match(/"content-damaged"/g)).toHaveLength(1)
})

test('a snapshot that only a later ring serves is written again from memory by the next pull', async () => {
  await using scene = await RingScene.start(RINGS)
  await scene.commit('second')
  const { state } = scene.served.config
  const snapshot = await snapshotInRing(scene)
  loseObject(state, snapshot)

  await scene.served.sync()

  using store = await Store.openExisting(state)
  expect(await store?.snapshots.isWhole(snapshot)).toBe(true)
})

async function bodyIn(scene: RingScene): Promise<string> {
  await using late = await scene.peer('late')
  return await bodyOf(late).catch(() => '')
}

/** The SHA-256 of the document of the only skill, in the snapshot that the last ring serves. */
async function documentOf(scene: RingScene, body: string): Promise<string> {
  using store = await Store.openExisting(scene.served.config.state)
  const snapshot = await store?.snapshots.readWhole(await snapshotInRing(scene))
  const [file] = snapshot?.skills[0]?.files ?? []
  if (file === undefined) throw new Error(`No document has ${body}`)
  return file.sha256
}

async function snapshotInRing(scene: RingScene): Promise<string> {
  using store = await Store.openExisting(scene.served.config.state)
  const generation = await store?.generations.newest()
  const step = generation?.rings?.trails[0]?.steps.find(({ since }) => since['stable'] !== undefined)
  if (step === undefined) throw new Error('The last ring serves nothing')
  return step.snapshot
}
