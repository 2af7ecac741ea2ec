import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Changes } from '../../src/sync/catalog/changes.ts'
import type { OpenUpstream } from '../../src/sync/pull/open-upstream.ts'
import { openTreeUpstream } from '../../src/sync/pull/open-upstream.ts'
import { GitServer, type RequestKind } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { ScriptedUpstream } from '../support/git/scripted-upstream.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { startFront } from '../sync/upstream/front.ts'
import { filesIn, Hub, idOf, isFetch, isListing, skill } from './hub.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test('a thousand polls without a change make no generation, no file, and one request each', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  // The answer is the git server's own; that it is said again from memory spares a thousand processes.
  const listings: Buffer[] = []
  const memory: Record<string, Buffer> = {}
  await using front = await startFront(
    world.git.origin,
    () => false,
    (body) => {
      if (!isListing({ body })) return undefined
      listings.push(body)
      return memory['listing']
    },
  )
  await using hub = await Hub.start({ team: [`url: ${front.origin}/team.git`, 'every: 5m'] })
  hub.daemon.poll()
  await hub.pass(MINUTE)
  memory['listing'] = await world.said('team', listings[0]!)
  const { generation } = hub.daemon.registry.catalog
  const files = await filesIn(hub.state)
  const before = [listings.length, world.git.requests.length]
  const startMs = hub.clock.now().getTime()

  while (listings.length - before[0]! < 1000) await hub.pass(5 * MINUTE)

  const periods = (hub.clock.now().getTime() - startMs) / (5 * MINUTE)
  expect(periods).toBeGreaterThan(900)
  expect(periods).toBeLessThanOrEqual(1000)
  expect(world.git.requests.length).toBe(before[1])
  expect(hub.daemon.registry.catalog.generation).toBe(generation)
  expect(await filesIn(hub.state)).toEqual(files)
  expect(hub.events).toEqual(['source-updated'])
  expect(Date.parse(hub.source('team').lastAttempt!)).toBeGreaterThan(hub.clock.now().getTime() - 5 * MINUTE)
})

test('fifty pushes within a period are one pull to the newest, and one notice for each URI that changed', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a'), 'b/SKILL.md': skill('b') } })
  await using hub = await Hub.start({ team: [world.url('team'), 'every: 5m'] })
  hub.daemon.poll()
  await hub.pass(MINUTE)
  const told: Changes[] = []
  using _listening = hub.daemon.registry.listen((changes) => told.push(changes))
  const before = world.git.requests.length
  let newest = ''
  for (let push = 1; push <= 50; push += 1) {
    newest = await world.repositories['team']!.commit({ 'a/SKILL.md': skill('a', `push ${push}`) })
  }

  await hub.pass(5 * MINUTE)

  expect(hub.source('team').served?.commit).toBe(newest)
  expect(told.map(({ changed }) => Array.from(changed))).toEqual([['skill://team/a/SKILL.md']])
  expect(world.git.requests.slice(before).filter(isListing)).toHaveLength(1)
})

test('ten sources of one repository are one listing a period, with the refs of all of them', async () => {
  await using world = await World.create({ mono: filesOf(10) })
  for (let branch = 0; branch < 3; branch += 1) await world.repositories['mono']!.git('branch', `b-${branch}`)
  const ref = (index: number): string[] => (index < 3 ? [`ref: b-${index}`] : [])
  const sources = Array.from({ length: 10 }, (_, index) => [
    `s-${index}`,
    [world.url('mono'), `root: part-${index}`, 'every: 5m', ...ref(index)],
  ])
  await using hub = await Hub.start(Object.fromEntries(sources))

  hub.daemon.poll()
  await hub.pass(MINUTE)
  const first = world.git.requests.filter(isListing)
  const before = world.git.requests.length
  await hub.pass(HOUR)

  expect(first).toHaveLength(1)
  for (const name of ['b-0', 'b-1', 'b-2'])
    expect(first[0]!.body.toString()).toContain(`ref-prefix refs/heads/${name}\n`)
  expect(first[0]!.body.toString()).toContain('ref-prefix HEAD\n')
  expect(hub.daemon.registry.catalog.listed).toHaveLength(10)
  const requests = world.git.requests.slice(before)
  expect(requests.filter(isListing)).toHaveLength(requests.length)
  expect(requests.length).toBeGreaterThanOrEqual(12)
  expect(requests.length).toBeLessThanOrEqual(14)
})

test('ten sources of one repository that is down are one request a poll, too', async () => {
  await using world = await World.create({ mono: filesOf(10) })
  const sources = Array.from({ length: 10 }, (_, index) => [
    `s-${index}`,
    [world.url('mono'), `root: part-${index}`, 'every: 5m'],
  ])
  await using hub = await Hub.start(Object.fromEntries(sources))
  hub.daemon.poll()
  await hub.pass(MINUTE)
  world.git.fault = { kind: 'status', status: 500 }
  const before = world.git.requests.length

  await hub.pass(3 * HOUR)

  // 36 times when all is well; some more in the first minutes, and chance.
  const asked = world.git.requests.length - before
  expect(asked).toBeGreaterThan(18)
  expect(asked).toBeLessThan(90)
  for (let index = 0; index < 10; index += 1) {
    expect(hub.source(`s-${index}`).problem?.code).toBe('source-unreachable')
  }
})

test('who asks for a pull while a listing runs gets a listing of its own, and sees the commit it asked for', async () => {
  await using world = await World.create({ mono: filesOf(2) })
  const sources = { one: [world.url('mono'), 'root: part-0'], two: [world.url('mono'), 'root: part-1'] }
  await using hub = await Hub.start(sources)
  await pullNow(hub.daemon)
  world.git.fault = { kind: 'hang-before', on: 'ls-refs' }
  const before = world.git.requests.length
  const hung = pullNow(hub.daemon, [idOf('one')]).catch((error: unknown) => error)
  await world.git.requested(isListing, before)
  world.git.fault = { kind: 'none' }
  const commit = await world.repositories['mono']!.commit({ 'part-1/s-1/SKILL.md': skill('s-1', 'new') })

  const outcomes = await pullNow(hub.daemon, [idOf('two')])

  expect(outcomes.get(idOf('two'))).toMatchObject({ kind: 'updated', revision: { commit } })
  await hub.daemon[Symbol.asyncDispose]()
  expect(await hung).toMatchObject({ name: 'AbortError' })
})

test('sources of one repository with credentials of their own do not share what one of them was told', async () => {
  await using world = await World.create({ mono: filesOf(2) })
  const auth = (variable: string): string => `auth: { token: { env: ${variable} } }`
  await using hub = await Hub.start({
    one: [world.url('mono'), 'root: part-0'],
    two: [world.url('mono'), 'root: part-1', auth('NOT_SET')],
  })

  const outcomes = await pullNow(hub.daemon)

  expect(outcomes.get(idOf('one'))).toMatchObject({ kind: 'updated' })
  expect(outcomes.get(idOf('two'))).toMatchObject({ kind: 'failed', error: { code: 'credentials-rejected' } })
})

const PAUSED: readonly [RequestKind, number][] = [
  ['info-refs', 429],
  ['ls-refs', 503],
  ['fetch', 429],
]
test.each(PAUSED)('told to wait by %s with %i, no source of the host asks it before the time', async (on, status) => {
  const names = ['one', 'two', 'three', 'four']
  await using world = await World.create(Object.fromEntries(names.map((name) => [name, { 'a/SKILL.md': skill('a') }])))
  await using hub = await Hub.start(Object.fromEntries(names.map((name) => [name, [world.url(name), 'every: 1m']])))
  world.git.fault = { kind: 'status', status, headers: { 'Retry-After': '3600' }, on }
  hub.daemon.poll()
  await hub.idle()
  const told = world.git.requests.length
  world.git.fault = { kind: 'none' }

  await hub.pass(HOUR - 1)
  const asked = await pullNow(hub.daemon)

  expect(told).toBeGreaterThan(0)
  expect(world.git.requests.length).toBe(told)
  for (const name of names) {
    expect(asked.get(idOf(name))).toMatchObject({ kind: 'failed', error: { code: 'rate-limited' } })
  }
  await hub.pass(2 * MINUTE)
  expect(hub.daemon.registry.catalog.listed).toHaveLength(names.length)
})

test.each(['ls-refs', 'fetch'] as const)(
  'one of a hundred repositories of a host hangs in %s, and the other 99 are polled in every period',
  async (on) => {
    await using slow = await World.create({ slow: { 'a/SKILL.md': skill('a') } })
    slow.git.fault = { kind: 'hang-before', on }
    const upstreams = Array.from({ length: 99 }, () => new ScriptedUpstream())
    const healthy = upstreams.map((_, index) => [`s-${index}`, [`url: ${slow.git.origin}/${index}.git`, 'every: 5m']])
    const open: OpenUpstream = (source, reach) => {
      const upstream = upstreams[Number(source.id.slice(2))]
      if (upstream !== undefined) return upstream.open(reach)
      if (source.kind !== 'git') throw new Error(`"${source.id}" is no repository`)
      return openTreeUpstream(source, reach)
    }
    await using hub = await Hub.start({ slow: [slow.url('slow'), 'every: 5m'], ...Object.fromEntries(healthy) }, open)
    const hanging = new Set(['slow'])
    hub.daemon.poll()
    await hub.idle(hanging)
    await slow.git.requested(on === 'fetch' ? isFetch : isListing)
    const before = upstreams.map(({ counts }) => counts.resolve)

    // The hung one is not waited for: its own time is real, and longer than all of this.
    await hub.pass(25 * MINUTE, hanging)

    const polls = upstreams.map(({ counts }, index) => counts.resolve - before[index]!)
    expect(Math.min(...polls)).toBeGreaterThanOrEqual(5)
    expect(Math.max(...polls)).toBeLessThanOrEqual(7)
  },
  60_000,
)

test('hosts that drip, more than there are places of any kind, keep no other from being looked at', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await using drips = await dripping(world, 20)
  await using hub = await Hub.start({ team: [world.url('team'), 'every: 5m'], ...drips.sources })
  const hanging = new Set(Object.keys(drips.sources))
  await pullNow(hub.daemon, [idOf('team')])
  hub.daemon.poll()
  await hub.pass(MINUTE, hanging)
  const { lastAttempt } = hub.source('team')

  await hub.pass(5 * MINUTE, hanging)

  expect(Date.parse(hub.source('team').lastAttempt!)).toBeGreaterThan(Date.parse(lastAttempt!))
})

test('a host is down for a week: requests, lines of the log and files stay few, and it recovers by itself', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await using hub = await Hub.start({ team: [world.url('team'), 'every: 30m'] })
  hub.daemon.poll()
  await hub.pass(MINUTE)
  const files = (await filesIn(hub.state)).length
  const before = world.git.requests.length
  world.git.fault = { kind: 'status', status: 502 }

  await hub.pass(7 * DAY)
  const asked = world.git.requests.length - before
  world.git.fault = { kind: 'none' }
  const newest = await world.repositories['team']!.commit({ 'a/SKILL.md': skill('a', 'news') })
  const served = hub.daemon.registry.catalog.listed.length
  await hub.pass(2 * 30 * MINUTE)

  expect(asked).toBeGreaterThan(200)
  expect(asked).toBeLessThan(1.5 * ((7 * DAY) / (30 * MINUTE)))
  expect(served).toBe(1)
  expect(await filesIn(hub.state), 'one more generation is no file').toHaveLength(files)
  expect(hub.source('team').served?.commit).toBe(newest)
  expect(hub.events).toEqual(['source-updated', 'pull-failed', 'recovered', 'source-updated'])
})

test('a token that is refused is tried no more often than the schedule says, and its successor is used at once', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') } })
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'token')
  await writeFile(file, 'first-token')
  world.git.access = { token: 'first-token' }
  await using hub = await Hub.start({ team: [world.url('team'), 'every: 5m', `auth: { token: { file: ${file} } }`] })
  hub.daemon.poll()
  await hub.pass(MINUTE)
  world.git.access = { token: 'second-token' }
  const before = world.git.requests.length

  await hub.pass(2 * HOUR)
  const asked = world.git.requests.length - before
  const served = hub.daemon.registry.catalog.listed.length
  const { problem } = hub.source('team')
  await writeFile(file, 'second-token')
  await hub.pass(5 * MINUTE)

  // 24 periods of two hours; what a failure made it forget of the server is asked again at the next poll.
  expect(asked).toBeLessThanOrEqual(27)
  expect(asked).toBeGreaterThanOrEqual(24)
  expect(served).toBe(1)
  expect(problem?.code).toBe('credentials-rejected')
  expect(hub.source('team').problem).toBeUndefined()
})

test('a machine that slept for a night polls once when it wakes, whatever it missed', async () => {
  await using world = await World.create({ team: { 'a/SKILL.md': skill('a') }, more: { 'b/SKILL.md': skill('b') } })
  await using hub = await Hub.start({
    team: [world.url('team'), 'every: 1m'],
    more: [world.url('more'), "every: '* * * * *'"],
  })
  hub.daemon.poll()
  await hub.pass(5 * MINUTE)
  const before = world.git.requests.length

  await hub.clock.suspend(9 * HOUR)
  await hub.idle()

  expect(
    world.git.requests
      .slice(before)
      .map(({ url }) => url)
      .toSorted(),
  ).toEqual(['/more.git/git-upload-pack', '/team.git/git-upload-pack'])
  await hub.pass(MINUTE)
  expect(world.git.requests.length - before).toBeGreaterThanOrEqual(3)
  expect(world.git.requests.length - before).toBeLessThanOrEqual(4)
})

/** Sources, each of a host of its own that begins to answer a fetch and then says no more. */
async function dripping(
  world: World,
  count: number,
): Promise<AsyncDisposable & { readonly sources: Record<string, string[]> }> {
  const servers = await Promise.all(Array.from({ length: count }, () => GitServer.start()))
  const entries = servers.map((git, index): [string, string[]] => {
    git.fault = { kind: 'hang', at: 4, on: 'fetch' }
    return [`drip-${index}`, [`url: ${git.serve('drip', world.repositories['team']!)}`, 'every: 5m']]
  })
  return {
    sources: Object.fromEntries(entries),
    [Symbol.asyncDispose]: async () => {
      for (const git of servers) await git[Symbol.asyncDispose]()
    },
  }
}

/** A git server with its repositories. */
class World implements AsyncDisposable {
  readonly git: GitServer
  readonly repositories: Record<string, Repository> = {}
  readonly #urls: Record<string, string> = {}

  private constructor(git: GitServer) {
    this.git = git
  }

  /** Each repository with the files of its first commit. */
  static async create(repositories: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<World> {
    const world = new World(await GitServer.start())
    for (const [name, files] of Object.entries(repositories)) {
      const repository = await Repository.create()
      await repository.commit(files)
      world.repositories[name] = repository
      world.#urls[name] = world.git.serve(name, repository)
    }
    return world
  }

  /** The line of YAML that leads there. */
  url(name: string): string {
    return `url: ${this.#urls[name]}`
  }

  /** What the git server answers to this body. */
  async said(name: string, body: Buffer): Promise<Buffer> {
    const headers = { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2' }
    const url = `${this.#urls[name]}/git-upload-pack`
    const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
    return Buffer.from(await answer.arrayBuffer())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.git[Symbol.asyncDispose]()
    for (const repository of Object.values(this.repositories)) await repository[Symbol.asyncDispose]()
  }
}

/** A repository of so many folders with a skill in each. */
function filesOf(parts: number): Record<string, string> {
  const indices = Array.from({ length: parts }, (_, index) => index)
  return Object.fromEntries(indices.map((index) => [`part-${index}/s-${index}/SKILL.md`, skill(`s-${index}`)]))
}
