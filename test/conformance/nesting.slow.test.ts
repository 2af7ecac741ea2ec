import { afterAll, beforeAll, expect, test } from 'vitest'
import { Desk, skills } from '../scenarios/desk.ts'
import type { Peer } from '../support/clients/peer.ts'
import { serve } from '../support/served.ts'
import {
  EXACT,
  KINDS,
  contentOf,
  digestOf,
  everyPeer,
  expectInvalidParams,
  findingsAt,
  itemsOf,
  openScene,
  walkPages,
} from './peers.ts'
import type { Entry, Scene } from './peers.ts'

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(KINDS)(
  'an outer skill lists the files of the inner one, which has its own entry for them (%s)',
  async (kind) => {
    const entries = await entriesOf(scene.of(kind))

    const outer = entries.get(scene.uri('outer'))
    expect(outer).toEqual(scene.entry('outer'))
    expect(outer?.resources.map(({ uri }) => uri)).toEqual([
      scene.uri('outer'),
      scene.uri('outer', 'broken/SKILL.md'),
      scene.uri('outer', 'inner/SKILL.md'),
      scene.uri('outer', 'inner/data.md'),
    ])
    expect(entries.get(scene.uri('outer/inner'))).toEqual(scene.entry('outer/inner'))
    expect(entries.get(scene.uri('outer/inner'))?.resources).toHaveLength(2)
    expect(entries.has(scene.uri('outer/broken'))).toBe(false)
  },
)

// Before any case that commits: the fixture knows what its first commit holds.
test('with nested: as-files the inner skill is files of the outer one alone, which is as it was', async () => {
  const { fixture } = scene
  await using served = await serve(fixture.repository, { source: [...EXACT, 'nested: as-files'] })
  await using peers = await everyPeer(served)
  const own = fixture.listed.filter((skill) => skill !== 'outer/inner').map((skill) => scene.uri(skill))

  for (const peer of peers.all) {
    const entries = await entriesOf(peer)
    const inner = await peer.call('skills/get', { uri: scene.uri('outer/inner') })

    expect([...entries.keys()].toSorted()).toEqual(own.toSorted())
    expect(entries.get(scene.uri('outer'))).toEqual(scene.entry('outer'))
    expectInvalidParams(inner)
    for (const [path, bytes] of fixture.filesOf('outer'))
      expect(contentOf(await peer.call('resources/read', { uri: scene.uri('outer', path) })).bytes).toEqual(bytes)
  }
  expect(findingsAt(served, 'outer/inner')).toMatchObject([
    { code: 'nested-skill', message: expect.stringContaining('"outer"') },
  ])
})

test('an edit of nested takes effect at the next pull, both ways, and every file can be read after it', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit({
    ...skills('outer', 'beside'),
    'outer/in/SKILL.md': skills('in')['in/SKILL.md']!,
    'outer/in/data.md': 'data\n',
  })
  const seen: string[][] = []
  for (const source of [[], ['nested: as-files'], ['nested: as-files', 'on_broken: refuse'], []]) {
    desk.source = source
    await desk.start()
    await desk.sync()
    seen.push(desk.names())
  }

  const all = ['beside', 'outer', 'in']
  const withoutInner = ['beside', 'outer']
  expect(seen).toEqual([all, withoutInner, withoutInner, all])
})

test.each(KINDS)('a change in an inner skill changes its set and the outer one, and no other (%s)', async (kind) => {
  const peer = scene.of(kind)
  const uri = scene.uri('outer/inner', 'data.md')
  const before = await untilCaughtUp(peer)
  const heard = await peer.subscribe([uri])
  const bytes = Buffer.from(`data for ${kind}\n`)

  await scene.fixture.repository.commit({ 'skills/outer/inner/data.md': bytes })
  await scene.served.sync()
  await heard.next((message) => message.params?.uri === uri)

  const after = await entriesOf(peer)
  const changed = new Set([scene.uri('outer'), scene.uri('outer/inner')])
  expect([...after.keys()]).toEqual([...before.keys()])
  for (const [document, entry] of before) {
    const expected = changed.has(document) ? withResource(entry, uri, bytes) : entry
    expect(after.get(document)).toEqual(expected)
  }
  await heard[Symbol.asyncDispose]()
})

/** The entries once they are those of the daemon: a follower may still be on its way to what the case before pushed. */
async function untilCaughtUp(peer: Peer): Promise<ReadonlyMap<string, Entry>> {
  const current = JSON.stringify([...(await entriesOf(scene.of('M')))])
  for (;;) {
    const entries = await entriesOf(peer)
    if (JSON.stringify([...entries]) === current) return entries
  }
}

async function entriesOf(peer: Peer): Promise<ReadonlyMap<string, Entry>> {
  const entries: Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
  return new Map(entries.map((entry) => [entry.uri, entry]))
}

/** The entry after one of its files has other bytes. */
function withResource(entry: Entry, uri: string, bytes: Buffer): Entry {
  const resources = entry.resources.map((resource) =>
    resource.uri === uri ? { uri, digest: digestOf(bytes), size: bytes.length } : resource,
  )
  return { ...entry, resources }
}
