import { expect, test } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Repository } from '../../../support/git/repository.ts'
import { skill } from '../../../support/http/marketplace.ts'
import { STEADY, World } from './published.ts'

test('the daemon publishes what it serves, and each change after it, without being asked', async () => {
  await using world = await World.create()

  world.daemon.poll()
  await world.isCurrent()
  await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
  await world.isCurrent()

  expect(await world.history()).toHaveLength(2)
  expect(await world.treeOf('main')).toBe(await world.servedTree())
  expect(await world.fsck()).toBe('')
  expect(world.logged('published')).toHaveLength(2)
})

test('a change that leaves the tree as it is asks the remote for nothing', async () => {
  await using world = await World.create()
  world.daemon.poll()
  await world.isCurrent()
  const before = world.server.requests.length
  const { generation } = world.daemon.registry.catalog

  await world.scene.commit({ 'README.md': 'beside the skills\n' })
  await world.isCurrent()

  expect(world.daemon.registry.catalog.generation).toBe(generation + 1)
  expect(world.server.requests).toHaveLength(before)
})

test('changes that come while a push is under way are one commit together', async () => {
  await using world = await World.create()
  const release = Promise.withResolvers<void>()
  let isHeld = true
  world.server.before = async ({ url }) => {
    if (isHeld && url.endsWith('/git-receive-pack')) await release.promise
  }
  world.daemon.poll()
  await world.server.requested(({ url }) => url.endsWith('/git-receive-pack'))
  for (const text of ['one', 'two', 'three']) await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', text) })

  isHeld = false
  release.resolve()
  await world.isCurrent()

  expect(await world.history()).toHaveLength(2)
  expect(await world.treeOf('main')).toBe(await world.servedTree())
})

test('what is withdrawn before the push has begun is in no commit', async () => {
  await using world = await World.create()
  const release = Promise.withResolvers<void>()
  world.server.before = async ({ url }) => {
    if (url.includes('info/refs') && url.includes('receive-pack')) await release.promise
  }
  world.daemon.poll()
  await world.server.requested(({ url }) => url.includes('receive-pack'))
  const withdrawn = await world.servedTree()
  await world.scene.commit({ 'tidy/SKILL.md': null })

  release.resolve()
  await world.isCurrent()

  expect(await world.history()).toHaveLength(1)
  expect(await world.treeOf('main')).toBe(await world.servedTree())
  expect(await world.treeOf('main')).not.toBe(withdrawn)
})

test('a dead remote keeps no pull and no client waiting', async () => {
  await using world = await World.create()
  world.server.fault = { kind: 'hang-before', on: 'info-refs', of: 'out' }

  world.daemon.poll()
  await world.server.requested(({ url }) => url.includes('receive-pack'))
  await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })

  expect(await world.servedTree()).toMatch(/^[0-9a-f]{40}$/)
  expect(world.status()).toMatchObject({ isCurrent: false })
})

test.each([
  [503, 10_000],
  [401, 3_600_000],
])('after a %i the next attempt comes %i ms later, and a change does not bring it forward', async (status, ms) => {
  const clock = new FakeClock()
  await using world = await World.create({ clock })
  world.server.fault = { kind: 'status', status, on: 'receive-pack' }
  world.daemon.poll()
  await world.hasFailed()
  world.server.fault = { kind: 'none' }

  await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
  await clock.advance(ms - 1)
  const early = world.pushes
  await clock.advance(1)
  await world.isCurrent()

  expect(early).toBe(1)
  expect(world.pushes).toBe(2)
  expect(await world.history()).toHaveLength(1)
  expect(await world.treeOf('main')).toBe(await world.servedTree())
})

test('a repository that is only named is tried once, and is no publication of the daemon', async () => {
  const clock = new FakeClock()
  await using world = await World.create({ clock })
  await using other = await Repository.create()
  const url = world.server.serve('other', other)
  world.server.fault = { kind: 'status', status: 503, of: 'other' }

  const ends = await world.daemon.parts.publications.publish({ named: { url }, isDry: false }, STEADY)
  await clock.advance(7_200_000)

  expect(ends).toMatchObject([{ kind: 'failed', url, problem: { code: 'source-unreachable' } }])
  expect(world.server.requests.filter((request) => request.url.startsWith('/other.git/'))).toHaveLength(1)
  expect(world.daemon.parts.status.status().publications?.map((one) => one.url)).toEqual([world.url])
})

test('a failure is reported with its first time and the next attempt, and its end once', async () => {
  await using world = await World.create()
  world.server.fault = { kind: 'status', status: 503, on: 'receive-pack' }
  world.daemon.poll()
  await world.hasFailed()

  expect(world.status()).toMatchObject({
    isCurrent: false,
    problem: { code: 'source-unreachable', fix: expect.any(String), since: expect.any(String) },
    nextAttempt: expect.any(String),
  })
  world.server.fault = { kind: 'none' }
  await world.publish()

  expect(world.status()).toMatchObject({ isCurrent: true })
  expect(world.status()?.problem).toBeUndefined()
  expect(world.logged('not-published')).toHaveLength(1)
  expect(world.logged('recovered')).toHaveLength(1)
})

test('a refused tree is not pushed again at once, another one is', async () => {
  await using world = await World.create()
  await world.hook('update', 'exit 1')
  world.daemon.poll()
  await world.hasFailed()
  await world.scene.commit({ 'README.md': 'the same tree\n' })
  await world.scene.commit({ 'README.md': 'the same tree still\n' })
  await world.hook('update', 'exit 0')

  await world.scene.commit({ 'tidy/SKILL.md': skill('tidy', 'other') })
  await world.isCurrent()

  expect(world.pushes).toBe(2)
  expect(await world.history()).toHaveLength(1)
})

test('the daemon that ends waits for no remote', async () => {
  const world = await World.create()
  world.server.fault = { kind: 'hang-before', on: 'info-refs', of: 'out' }
  world.daemon.poll()
  await world.server.requested(({ url }) => url.includes('receive-pack'))

  await world[Symbol.asyncDispose]()

  expect(world.logged('not-published')).toEqual([])
})
