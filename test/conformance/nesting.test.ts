import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Peer } from '../support/peer.ts'
import { KINDS, digestOf, itemsOf, openScene, walkPages } from './peers.ts'
import type { Entry, Scene } from './peers.ts'

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(KINDS)(
  'C085: an outer skill lists the files of the inner one, which has its own entry for them (%s)',
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

test.each(KINDS)(
  'C086: a change in an inner skill changes its set and the outer one, and no other (%s)',
  async (kind) => {
    const peer = scene.of(kind)
    const uri = scene.uri('outer/inner', 'data.md')
    const before = await entriesOf(peer)
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
  },
)

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
