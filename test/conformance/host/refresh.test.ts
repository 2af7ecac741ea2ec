import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'
const INDEX = 'skill://index.json'
const UPDATED = 'notifications/resources/updated'
const LIST_CHANGED = 'notifications/resources/list_changed'

test('a modern server is asked once to tell of its list and of what is wanted of it, waiting for approval or not', async () => {
  await using au = await serverWith('refunds', 'other')
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au, 'required') }, clock)
  await au.subscribed(URI)

  au.notify(UPDATED, { uri: URI })

  await mirror.logged('source-unchanged')
  expect(au.of('subscriptions/listen').map(({ params }) => params.notifications)).toEqual([
    { resourcesListChanged: true, resourceSubscriptions: [INDEX, 'skill://other/SKILL.md', URI] },
  ])
  expect(au.of('skills/list')).toHaveLength(2)
})

test('what a modern server does not acknowledge is not heeded, and what it does is', async () => {
  await using au = await serverWith('refunds')
  au.honours = () => ({ resourcesListChanged: true })
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.streaming(1)

  au.notify(UPDATED, { uri: URI }, 'all')
  au.notify(UPDATED, { uri: INDEX })
  const unheeded = await nudges(mirror, clock)
  au.notify(LIST_CHANGED)
  await mirror.logged('source-nudged')

  expect(unheeded).toBe(0)
  expect(await nudges(mirror, clock)).toBe(1)
})

test('a server that acknowledges nothing is asked again, and is looked at no more often for that', async () => {
  await using au = await serverWith('refunds')
  au.honours = () => ({})
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  while (au.of('subscriptions/listen').length < 4) await clock.advance(1000)

  expect(await nudges(mirror, clock)).toBe(0)
})

test('a legacy server that declares it is subscribed to, and one that does not is not', async () => {
  await using one = await legacyWith('refunds')
  await using two = await legacyWith('refunds')
  two.capabilities = { ...two.capabilities, resources: { listChanged: true } }
  const clock = new FakeClock()
  await using mirror = await polled({ one: of(one), two: of(two) }, clock)
  await one.subscribed(URI)
  await two.streaming(1)

  one.notify(UPDATED, { uri: URI })
  await mirror.logged('source-nudged', 1)
  two.notify(LIST_CHANGED)
  await mirror.logged('source-nudged', 2)

  expect(one.of('resources/subscribe').map(({ params }) => params.uri)).toEqual([INDEX, URI])
  expect(two.of('resources/subscribe')).toEqual([])
})

test('a legacy server that has more to tell of than before tells of all of it', async () => {
  await using au = await legacyWith('refunds')
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.subscribed(URI)
  offering(au, ['other'])
  au.notify(LIST_CHANGED)
  await au.subscribed('skill://other/SKILL.md')
  const before = await nudges(mirror, clock)

  au.notify(UPDATED, { uri: URI })
  await mirror.logged('source-nudged', before + 1)

  expect(await nudges(mirror, clock)).toBe(before + 1)
})

test('that a server refuses a subscription is no fault of the source, and the list is told of all the same', async () => {
  await using au = await legacyWith('refunds')
  au.on('resources/subscribe', () => new RpcFault(-32_603, 'No'))
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.requested(({ method, params }) => method === 'resources/subscribe' && params.uri === URI)
  await au.streaming(1)

  au.notify(LIST_CHANGED)
  await mirror.logged('source-nudged')

  expect(mirror.source('au').problem).toBeUndefined()
  expect(mirror.log.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([])
})

test('what one server adds, removes and changes is served together once it tells, and no other is asked for anything', async () => {
  await using au = await serverWith('added-to', 'changed', 'removed')
  await using other = await serverWith('refunds')
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au), other: of(other) }, clock)
  await au.subscribed('skill://changed/SKILL.md')
  await other.subscribed(URI)
  const before = { generation: mirror.daemon.parts.status.status().generation, requests: other.requests.length }

  au.skills.delete('skill://removed/SKILL.md')
  au.skills.set('skill://changed/SKILL.md', { 'SKILL.md': skill('changed', 'new') })
  au.skills.set('skill://added/SKILL.md', { 'SKILL.md': skill('added') })
  au.notify(LIST_CHANGED)
  await mirror.logged('source-updated', 3)

  expect(await mirror.urisListed()).toEqual([
    'skill://au/added-to/SKILL.md',
    'skill://au/added/SKILL.md',
    'skill://au/changed/SKILL.md',
    'skill://other/refunds/SKILL.md',
  ])
  expect(String(await mirror.bytesOf('skill://au/changed/SKILL.md'))).toBe(skill('changed', 'new'))
  expect(mirror.log.findLast(({ event }) => event === 'source-updated')).toMatchObject({
    source: 'au',
    changes: 'changed changed; renamed removed to added',
  })
  expect(mirror.daemon.parts.status.status().generation).toBe(before.generation + 1)
  expect(other.requests.slice(before.requests)).toEqual([])
})

test('after 500 notifications in a second a server is asked at most three times in ten, and what it has last is served', async () => {
  await using au = await serverWith('refunds')
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.subscribed(URI)
  const before = au.of('skills/list').length

  for (let round = 1; round <= 5; round += 1) {
    au.skills.set(URI, { 'SKILL.md': skill('refunds', `round ${round}`) })
    for (let times = 0; times < 100; times += 1) au.notify(times % 2 === 0 ? LIST_CHANGED : UPDATED, { uri: URI })
    await clock.advance(200)
  }
  while (String(await mirror.bytesOf(SERVED)) !== skill('refunds', 'round 5')) await clock.advance(100)
  await clock.advance(10_000)
  await mirror.daemon.parts.scheduler.refresh()

  expect(au.of('skills/list').length - before).toBeLessThanOrEqual(3)
})

test('however often clients list, a server is asked once, and once more when it tells', async () => {
  await using au = await serverWith('refunds')
  au.ttlMs = 60_000
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.subscribed(URI)

  for (let times = 0; times < 20; times += 1) {
    await mirror.listed()
    await mirror.peer.call('tools/call', { name: 'list_skills', arguments: {} })
    await clock.advance(1_500)
  }
  const listings = au.of('skills/list').length
  au.notify(LIST_CHANGED)
  await mirror.logged('source-unchanged')

  expect([listings, au.of('skills/list').length]).toEqual([1, 2])
})

test('a schedule shorter than what a server says of its listing waits for that, and clients and the schedule find it fresh', async () => {
  await using au = await serverWith('refunds')
  au.ttlMs = 60_000
  const clock = new FakeClock()
  await using mirror = await polled({ au: often(au) }, clock)
  await au.subscribed(URI)
  const first = await leftMs(mirror, clock, 60_000)

  await clock.advance(59_000)
  await mirror.peer.call('tools/call', { name: 'list_skills', arguments: {} })
  const unasked = au.of('skills/list').length
  au.notify(LIST_CHANGED)
  await mirror.logged('source-unchanged')
  const told = au.of('skills/list').length
  await clock.advance(1_000)
  const second = await leftMs(mirror, clock, 59_000)
  await clock.advance(59_000)
  await mirror.logged('source-unchanged', 2)

  expect([first, second]).toEqual([60_000, 59_000])
  expect([unasked, told, au.of('skills/list').length]).toEqual([1, 2, 3])
})

test('an operator who asks for a look gets one, however fresh the listing is', async () => {
  await using au = await serverWith('refunds')
  au.ttlMs = 60_000
  const clock = new FakeClock()
  await using mirror = await polled({ au: often(au) }, clock)

  await mirror.pull()

  expect(au.of('skills/list')).toHaveLength(2)
})

test('a listing that is fresh is no reason to wait where the last look failed', async () => {
  await using au = await serverWith('refunds')
  au.ttlMs = 3_600_000
  const clock = new FakeClock()
  await using mirror = await polled({ au: often(au) }, clock)
  await au.subscribed(URI)

  au.on('skills/list', () => new RpcFault(-32_603, 'Out of order'))
  au.notify(LIST_CHANGED)
  await mirror.logged('pull-failed')
  au.on('skills/list')
  while (mirror.source('au').problem !== undefined) await clock.advance(1_000)

  expect(au.of('skills/list').length).toBeGreaterThanOrEqual(3)
})

test.each([
  ['a time that is over', -5, 1_000],
  ['no number', 'long', 1_000],
  ['three hundred years', 1e13, 86_400_000],
])('a server that says %s is looked at on the schedule, and once a day at least', async (_, ttlMs, expected) => {
  await using au = await serverWith('refunds')
  au.ttlMs = ttlMs
  const clock = new FakeClock()

  await using mirror = await polled({ au: often(au) }, clock)

  // What sets the polls of machines apart is taken off a period.
  expect(await leftMs(mirror, clock, expected * 0.9)).toBeLessThanOrEqual(expected)
})

test('a refresh that fails leaves the last good state and says so, and is tried again after growing delays', async () => {
  await using au = await serverWith('refunds')
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.subscribed(URI)

  au.on('skills/list', () => new RpcFault(-32_603, 'Out of order'))
  au.skills.set(URI, { 'SKILL.md': skill('refunds', 'new') })
  au.notify(LIST_CHANGED)
  await mirror.logged('pull-failed')
  const failed = [await mirror.urisListed(), mirror.source('au').problem?.code]
  // The schedule would wait for an hour.
  const left = () => Date.parse(mirror.source('au').nextPoll!) - clock.now().getTime()
  while (left() > 10_000) await turn()
  // The bound of the first delay is 10 s, and each is twice the one before: chance alone decides how soon a delay is above that.
  while (left() <= 10_000) await clock.advance(1_000)
  const stale = [await mirror.urisListed(), mirror.source('au').problem?.code]
  au.on('skills/list')
  while (String(await mirror.bytesOf(SERVED)) !== skill('refunds', 'new')) await clock.advance(1_000)

  expect(failed).toEqual([[SERVED], 'source-unreachable'])
  expect(stale).toEqual(failed)
  expect(mirror.source('au').problem).toBeUndefined()
})

test('what is told of another URI, logged, or told by a method that nobody knows has nothing fetched', async () => {
  await using au = await serverWith('refunds')
  const clock = new FakeClock()
  await using mirror = await polled({ au: of(au) }, clock)
  await au.subscribed(URI)

  au.notify(UPDATED, { uri: 'skill://unrelated/SKILL.md' }, 'all')
  au.notify(UPDATED, {}, 'all')
  au.notify('notifications/message', { level: 'error', data: URI }, 'all')
  au.notify('notifications/skills/changed', { uri: URI }, 'all')
  au.notify('notifications/tools/list_changed', {}, 'all')
  const unrelated = await nudges(mirror, clock)
  au.notify(UPDATED, { uri: URI })
  await mirror.logged('source-nudged')

  expect(unrelated).toBe(0)
  expect(await nudges(mirror, clock)).toBe(1)
})

/** One that polls as a daemon does, with each source pulled once. Only what servers tell causes more: no schedule is that short. */
async function polled(sources: Readonly<Record<string, string>>, clock: FakeClock): Promise<Mirror> {
  const mirror = await Mirror.start(sources, { clock, isPulled: false })
  mirror.daemon.poll()
  await mirror.logged('source-updated', Object.keys(sources).length)
  return mirror
}

/** How long it is to the next poll, once that is no sooner than this. */
async function leftMs(mirror: Mirror, clock: FakeClock, leastMs: number): Promise<number> {
  for (;;) {
    const left = Date.parse(mirror.source('au').nextPoll ?? '') - clock.now().getTime()
    if (left >= leastMs) return left
    await turn()
  }
}

/** How often servers were heard so far, once everything that they said was. */
async function nudges(mirror: Mirror, clock: FakeClock): Promise<number> {
  for (let times = 0; times < 2; times += 1) {
    await mirror.pull()
    await turn()
    await clock.advance(1_000)
  }
  return mirror.log.filter(({ event }) => event === 'source-nudged').length
}

async function serverWith(...names: readonly string[]): Promise<HostileServer> {
  return offering(await HostileServer.start(), names)
}

async function legacyWith(...names: readonly string[]): Promise<HostileServer> {
  return offering(await HostileServer.start({ era: 'legacy' }), names)
}

function offering(au: HostileServer, names: readonly string[]): HostileServer {
  for (const name of names) au.skills.set(`skill://${name}/SKILL.md`, { 'SKILL.md': skill(name) })
  return au
}

function of(au: HostileServer, approval = 'none'): string {
  return `mcp: "${au.url}", approval: ${approval}, every: 1h`
}

function often(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none, every: 1s`
}

function skill(name: string, body = 'body'): string {
  return `---\nname: ${name}\ndescription: d\n---\n${body}\n`
}
