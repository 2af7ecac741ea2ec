import { describe, expect, test } from 'vitest'
import { packObjects } from '../../../../src/features/channel/content/packed-objects.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import { damageObject, loseObject } from '../../../support/damage.ts'
import { never } from '../../../sync/store/samples.ts'
import type { Sample } from '../../../sync/store/samples.ts'
import { objectId } from '../../../sync/upstream/reached.ts'
import { Follower } from './follower.ts'
import { CraftedChannel, skillNamed, startFileServer } from './site.ts'

test('an unchanged channel takes one request, and a changed skill three, over one connection', async () => {
  const channel = new CraftedChannel()
  await using server = await startFileServer(channel.read)
  await channel.publish(skillNamed('one'), skillNamed('two'))
  await using follower = await Follower.open({ place: server.url })
  await follower.updated()
  const connections = server.connections()

  server.requests.length = 0
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(server.requests).toMatchObject([{ path: 'checkpoint', status: 304 }])

  const before = new Set(channel.files.keys())
  await channel.publish(skillNamed('one'), skillNamed('two', 'changed'))
  const added = [...channel.files].filter(([path]) => path.startsWith('object/') && !before.has(path))
  channel.files.set('changes/1', await packObjects(added.map(([, bytes]) => bytes)))
  server.requests.length = 0
  await follower.updated()

  expect(server.requests.map(({ path }) => path)).toEqual(['checkpoint', 'tile/entries/000.p/2', 'changes/1'])
  expect((await follower.skills())['team/two']?.files['SKILL.md']).toContain('changed')
  expect(server.connections()).toBe(connections)
})

test('the newest entry descends from every other one, and of two earlier ones the order is not known', async () => {
  const channel = new CraftedChannel()
  await using server = await startFileServer(channel.read)
  await using follower = await Follower.open({ place: server.url })
  const heads: ObjectId[] = []
  for (const name of ['one', 'two', 'three']) {
    heads.push(objectId(await channel.publish(skillNamed(name))))
    await follower.updated()
  }
  const [first, second, third] = heads
  if (first === undefined || second === undefined || third === undefined) throw new TypeError('There are three')
  const upstream = follower.upstream()

  expect(await upstream.relation(first, third, never())).toBe('descends')
  expect(await upstream.relation(second, third, never())).toBe('descends')
  expect(await upstream.relation(first, first, never())).toBe('descends')
  expect(await upstream.relation(first, second, never())).toBe('unknown')
  expect(await upstream.relation(third, first, never())).toBe('unknown')
})

test('a report that the hub does not take for now is sent again, and one that it has is not', async () => {
  const channel = new CraftedChannel()
  await using server = await startFileServer(channel.read)
  await channel.publish(skillNamed('one'))
  const recall = 'a'.repeat(64)
  const below = () => [{ recall, obeyed: 1, behind: 0, unreachable: 0 }]
  const statuses = [503, 429, 204]
  server.meddle = (_, response, path) => {
    if (path !== 'reach') return false
    response.writeHead(statuses.shift() ?? 500).end()
    return true
  }
  await using follower = await Follower.open({ place: server.url, below })

  for (let round = 0; round < 5; round += 1) await follower.pull()

  const reports = server.requests.filter(({ path }) => path === 'reach')
  expect(reports.map(({ status }) => status)).toEqual([503, 429, 204])
})

test('requests in sequence share one connection', async () => {
  const channel = new CraftedChannel()
  await using server = await startFileServer(channel.read)
  await channel.publish(skillNamed('one'))
  await using follower = await Follower.open({ place: server.url })
  await follower.updated()

  for (let round = 0; round < 20; round += 1) await follower.pull()

  expect(server.requests.length).toBeGreaterThan(24)
  expect(server.connections()).toBe(1)
})

test('a source that selects other skills takes them, also of a list that it knows', async () => {
  const channel = new CraftedChannel()
  await using server = await startFileServer(channel.read)
  await channel.publish(skillNamed('one'), skillNamed('two'))
  await using follower = await Follower.open({ place: server.url, include: ['team/one'] })
  await follower.updated()
  expect(Object.keys(await follower.skills())).toEqual(['team/one'])

  follower.options.include = ['team/two']
  await follower.updated()

  expect(Object.keys(await follower.skills())).toEqual(['team/two'])
})

describe.each([
  ['lost', loseObject],
  ['damaged', damageObject],
])('an object that is %s in the store is fetched again', (_, harm) => {
  test.each([
    ['a file', (_: CraftedChannel, { skill }: Sample) => skill.files[0]?.sha256],
    ['a list of skills', (channel: CraftedChannel, { skill }: Sample) => channel.object([skill])],
  ])('%s', async (_kind, digestOf) => {
    const channel = new CraftedChannel()
    await using server = await startFileServer(channel.read)
    const one = skillNamed('one')
    await channel.publish(one)
    await using follower = await Follower.open({ place: server.url })
    await follower.updated()
    const whole = await follower.skills()
    const digest = digestOf(channel, one) ?? ''
    harm(follower.store, digest)

    follower.options.isDamaged = true
    await follower.pull()

    expect(await follower.skills()).toEqual(whole)
    expect(await follower.store.objects.get(digest)).toBeDefined()
  })
})
