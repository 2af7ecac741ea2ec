import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { FollowedChannel, SimulatedFollower } from '../../bench/simulated-follower.ts'
import { eventsRequest, WirePlace } from '../../bench/wire-place.ts'
import { Wire } from '../../bench/wire.ts'
import { followEvents } from '../../src/features/channel/follow/channel-events.ts'
import { FOLLOWER_HEADER } from '../../src/features/channel/recall/follower-report.ts'
import { recallIn } from '../../src/sync/model/decisions/disabled-entries.ts'
import { newRecall, withRecall } from '../../src/sync/model/decisions/recalled-skills.ts'
import { PLAIN_WAY } from '../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../src/sync/upstream/upstream.ts'
import { Follower } from '../features/channel/follow/follower.ts'
import { SIGNER, skillNamed, startFileServer } from '../features/channel/follow/site.ts'
import type { FileServer } from '../features/channel/follow/site.ts'
import { Hub } from '../features/channel/publish/hub.ts'
import type { Content } from '../features/channel/publish/hub.ts'
import { ADA, recallsIn } from '../support/decided.ts'
import { never } from '../sync/store/samples.ts'

const MANY = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`part-${index}.md`, `part ${index}\n`]))
/** More than packed changes may have, in files of which those of each list can still be packed. */
const LARGE = Array.from({ length: 4 }, (_, index) =>
  skillNamed(
    `large-${index}`,
    'text',
    Object.fromEntries(Array.from({ length: 10 }, (_, file) => [`${file}.txt`, randomBytes(32_768).toString('hex')])),
  ),
)
const FIRST: Content = { a: [skillNamed('one', 'text', { 'notes.md': 'notes\n' }), skillNamed('two')], b: [] }

/** The content that a hub publishes, entry by entry; followers pull after each group. */
const HISTORY: readonly (readonly [string, ...Content[]])[] = [
  ['the first contact', FIRST],
  ['one changed file', { ...FIRST, a: [skillNamed('one', 'changed'), skillNamed('two')] }],
  ['a new skill of many files', { ...FIRST, b: [skillNamed('many', '', MANY)] }],
  ['three entries at once', FIRST, { ...FIRST, b: [skillNamed('new')] }, { ...FIRST, b: [skillNamed('newer')] }],
  ['more than is packed', { ...FIRST, b: LARGE }],
  ['nothing', { ...FIRST, b: LARGE }],
  ['ten entries at once', ...Array.from({ length: 10 }, (_, index) => ({ a: [skillNamed('one', `${index}`)] }))],
]

test('a simulated follower sends the requests of a real one', async () => {
  await using hub = await Hub.create()
  await using server = await startFileServer(hub.read)
  await using real = await Follower.open({ place: server.url })
  const place = new WirePlace(server.url)
  const simulated = new SimulatedFollower(new FollowedChannel(SIGNER), place)

  for (const [name, ...contents] of HISTORY) {
    for (const content of contents) {
      await hub.serve(content)
      await hub.publish()
    }
    const asReal = await requestsOf(server, async () => real.pull())
    const asSimulated = await requestsOf(server, async () => simulated.pull(never()))
    expect([name, asSimulated]).toEqual([name, asReal])
  }

  expect(simulated.size).toBe(17)
  place.close()
})

test('a simulated follower that obeys a recall sends the requests of a real one', async () => {
  await using hub = await Hub.create()
  await using server = await startFileServer(hub.read)
  await using real = await Follower.open({ place: server.url })
  const place = new WirePlace(server.url)
  const simulated = new SimulatedFollower(new FollowedChannel(SIGNER), place)
  await hub.serve(FIRST)
  await hub.publish()
  for (const pull of [async () => real.pull(), async () => simulated.pull(never())]) await pull()
  const recall = recallIn(newRecall(['a'.repeat(64)], 'it is bad', ADA), [])
  await hub.store.decisions.changeOut((out) => withRecall(out, recall) ?? out, { ...ADA, decision: 'disable' })
  await hub.publish()

  const asReal = await requestsOf(server, async () => real.pull())
  const asSimulated = await requestsOf(server, async () => simulated.pull(never()))

  expect(asSimulated).toEqual(asReal)
  expect(asReal.join(' ')).toContain('reach')
  expect([simulated.recalls, recallsIn(real.store.decisions.outOfService).length]).toEqual([1, 1])
  place.close()
})

test('a simulated follower that begins where another is sends what it would send', async () => {
  await using hub = await Hub.create()
  await using server = await startFileServer(hub.read)
  const channel = new FollowedChannel(SIGNER)
  const [place, others] = [new WirePlace(server.url), new WirePlace(server.url)]
  const first = new SimulatedFollower(channel, place)
  await hub.serve(FIRST)
  await hub.publish()
  await first.pull(never())
  const second = new SimulatedFollower(channel, others, first.followed)
  await hub.serve({ a: [skillNamed('one', 'changed')] })
  await hub.publish()

  const asFirst = await requestsOf(server, async () => first.pull(never()))
  const asSecond = await requestsOf(server, async () => second.pull(never()))

  expect(asSecond).toEqual(asFirst)
  expect(asSecond).toHaveLength(3)
  expect(second.size).toBe(2)
  for (const one of [place, others]) one.close()
})

test.for([
  ['checkpoint', 'it has no signatures'],
  ['tile/entries/000.p/2', 'entries'],
  ['changes/1', 'its SHA-256 is'],
] as const)('a simulated follower notices a changed %s', async ([damaged, said]) => {
  await using hub = await Hub.create()
  await using server = await startFileServer(hub.read)
  const place = new WirePlace(server.url)
  const simulated = new SimulatedFollower(new FollowedChannel(SIGNER), place)
  await hub.serve(FIRST)
  await hub.publish()
  await simulated.pull(never())
  await hub.serve({ a: [skillNamed('one', 'changed')] })
  await hub.publish()
  const requested: string[] = []
  server.meddle = (_request, response, path) => {
    requested.push(path)
    if (path !== damaged && !path.startsWith('object/')) return false
    const body = Buffer.alloc(400, 'x')
    response.writeHead(200, { 'content-length': body.length }).end(body)
    return true
  }

  await expect(simulated.pull(never())).rejects.toThrow(said)

  expect(requested).toContain(damaged)
  expect(simulated.size).toBe(1)
  place.close()
})

test('a simulated follower asks for the events as a real one does', async () => {
  await using server = await startFileServer(async () => Buffer.from('no stream'))
  const parts = { limits: FETCH_LIMITS, way: async () => PLAIN_WAY, signal: never() }

  const asReal = await requestsOf(server, async () => followEvents(server.url, parts, () => {}))
  const asSimulated = await requestsOf(server, async () => {
    using wire = await Wire.open(server.url)
    await wire.exchange(eventsRequest(server.url))
  })

  expect(asSimulated).toEqual(asReal)
  expect(asReal).toHaveLength(1)
})

/** The requests that the server got meanwhile. Those of one pull are sent at the same time, so in no order. */
async function requestsOf(server: FileServer, work: () => Promise<unknown>): Promise<readonly string[]> {
  server.requests.length = 0
  await work()
  await expect.poll(() => server.requests.every(({ status }) => status > 0)).toBe(true)
  return server.requests.map(({ path, status, headers }) => JSON.stringify([path, status, sorted(headers)])).toSorted()
}

/** Each follower has a random id. */
function sorted(headers: object): readonly unknown[] {
  const known = Object.entries(headers).map(([name, value]) =>
    name === FOLLOWER_HEADER ? [name, `${value}`.replace(/^[\da-f]{32} /, 'ID ')] : [name, value],
  )
  return known.toSorted(([one], [other]) => (one < other ? -1 : 1))
}
