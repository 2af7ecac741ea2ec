import { expect, test } from 'vitest'
import { git, skill } from '../../../support/http/marketplace.ts'
import { World } from './published.ts'

test('an empty repository gets a root commit with the tree of the hub, which git finds whole', async () => {
  await using world = await World.create()

  const end = await world.publish()

  expect(end).toMatchObject({ kind: 'pushed', url: world.url, branch: 'main', tree: await world.servedTree() })
  expect(await world.history()).toEqual([end.kind === 'pushed' && end.commit])
  expect(await world.treeOf('main')).toBe(await world.servedTree())
  expect(await world.fsck()).toBe('')
})

test('each change is one more commit, and nothing is pushed where the branch has the tree', async () => {
  await using world = await World.create()
  const first = await world.publish()
  await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })

  const second = await world.publish()
  const third = await world.publish()

  expect(second).toMatchObject({ kind: 'pushed', parent: first.kind === 'pushed' && first.commit })
  expect(third).toMatchObject({ kind: 'unchanged', commit: second.kind === 'pushed' && second.commit })
  expect(world.pushes).toBe(2)
  expect(await world.history()).toHaveLength(2)
  expect(await world.treeOf('main')).toBe(await world.servedTree())
  expect(await world.treeOf('main')).not.toBe(await world.treeOf('main~1'))
  expect(await world.fsck()).toBe('')
})

test('a commit after one of ours is sent without the objects that the branch has', async () => {
  await using world = await World.create()
  await world.publish()
  await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })

  await world.publish()

  const [first = 0, second = 0] = world.server.requests
    .filter(({ method, url }) => method === 'POST' && url.endsWith('git-receive-pack'))
    .map(({ body }) => body.readUInt32BE(body.indexOf('PACK') + 8))
  // The commit, the six trees on the way to the file and to the manifests, the tree of a manifest of the plugin, the
  // file, the manifest of the marketplace, and two of the plugin.
  expect(second).toBe(12)
  expect(first).toBeGreaterThan(20)
  expect(await world.fsck()).toBe('')
})

test('the marketplace of one pack is published alone, to a branch of its own', async () => {
  await using world = await World.create({ publication: ['branch: teams/writing', 'pack: writing'] })

  await world.publish()

  const clone = await world.scene.cloneOf(`${world.scene.origin}/packs/writing/marketplace.git`)
  expect(await world.treeOf('teams/writing')).toBe(await git(['rev-parse', 'HEAD^{tree}'], clone))
})

test('the commit names its author, the digest and the time of the push', async () => {
  await using world = await World.create()
  const before = Math.floor(Date.now() / 1000)

  await world.publish()

  const [author, message, seconds] = (await world.remote.git('log', '-1', '--format=%an%n%s%n%at')).split('\n')
  expect(author).toBe('skillsyncd')
  expect(message).toMatch(/^Skills sha256:[0-9a-f]{64}$/)
  expect(Number(seconds)).toBeGreaterThanOrEqual(before)
  expect(Number(seconds)).toBeLessThanOrEqual(Date.now() / 1000)
})

test.each([true, false])('a tip that is not ours is followed, where the server filters: %s', async (filter) => {
  await using world = await World.create({ filter })
  const theirs = await world.remote.commit({ 'README.md': 'ours by hand\n' })

  const end = await world.publish()

  expect(end).toMatchObject({ kind: 'pushed', parent: theirs })
  expect(await world.treeOf('main')).toBe(await world.servedTree())
  expect(await world.fsck()).toBe('')
})
