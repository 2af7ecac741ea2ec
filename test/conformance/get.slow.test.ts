import { afterAll, beforeAll, expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import { EXACT, KINDS, contentOf, digestOf, everyPeer, itemsOf, openScene, resultOf, walkPages } from './peers.ts'
import type { Entry, Kind, Scene } from './peers.ts'

let fx: Scene
beforeAll(async () => {
  fx = await openScene()
})
afterAll(async () => {
  await fx[Symbol.asyncDispose]()
})

test.each(KINDS)('get answers for each listed URI with the entry of the list (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  const replies = await Promise.all(entries.map(({ uri }) => fx.of(kind).call('skills/get', { uri })))

  expect(replies.map((reply) => resultOf(reply).skill)).toEqual(entries)
  expect(entries).toHaveLength(fx.fixture.listed.length)
})

test('an unlisted skill is in no list, and answered whole for who knows its URI', async () => {
  const source = [...EXACT, 'unlisted: [acme/support/refunds, outer/inner]']
  await using served = await serve(fx.fixture.repository, { source })
  await using peers = await everyPeer(served)
  const hidden = ['acme/support/refunds', 'outer/inner']
  const shown = fx.fixture.listed.filter((skill) => !hidden.includes(skill))

  for (const peer of peers.all) {
    const listed: Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
    const resources: Entry[] = itemsOf(await walkPages(peer, 'resources/list'))
    const above = await peer.call('resources/directory/read', { uri: fx.root('acme') })

    expect(listed.map(({ uri }) => uri).toSorted()).toEqual(shown.map((skill) => fx.uri(skill)).toSorted())
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual(shown.map((skill) => fx.uri(skill)).toSorted())
    expect(resultOf(above).resources).toMatchObject([{ uri: fx.root('acme/billing') }])
    for (const skill of hidden) {
      const got = await peer.call('skills/get', { uri: fx.uri(skill) })
      const children = await peer.call('resources/directory/read', { uri: fx.root(skill) })

      expect(resultOf(got).skill).toEqual(fx.entry(skill))
      expect(resultOf(children).resources.length).toBeGreaterThan(0)
      for (const [path, bytes] of fx.fixture.filesOf(skill)) {
        expect(contentOf(await peer.call('resources/read', { uri: fx.uri(skill, path) })).bytes).toEqual(bytes)
      }
    }
    const outer = await peer.call('skills/get', { uri: fx.uri('outer') })
    expect(resultOf(outer).skill).toEqual(fx.entry('outer'))
  }
})

test.each(KINDS)('a URI that nothing is served at is invalid, of whatever scheme (%s)', async (kind) => {
  const path = 'fx/git-workflow/SKILL.md'
  const uris = [
    `${fx.prefix}nowhere/SKILL.md`,
    `skill://elsewhere/git-workflow/SKILL.md`,
    `skill://git-workflow/SKILL.md`,
    `https://${path}`,
    `file:///${path}`,
    `github://${path}`,
    path,
    'SKILL.md',
  ]

  const codes = await codesOf(kind, uris)

  expect(codes).toEqual(uris.map((uri) => [uri, -32602]))
})

test.each(KINDS)('a URI that is no SKILL.md of a skill is invalid (%s)', async (kind) => {
  const uris = [
    fx.root('git-workflow'),
    `${fx.root('git-workflow')}/`,
    fx.root('acme'),
    fx.uri('pdf-processing', 'references/FORMS.md'),
    fx.uri('pdf-processing', 'empty.txt'),
    'skill://index.json',
    `${fx.root('git-workflow')}.tar.gz`,
    `${fx.root('git-workflow')}.zip`,
    `${fx.root('git-workflow')}/_manifest`,
    fx.uri('outer', 'broken/SKILL.md'),
  ]

  const codes = await codesOf(kind, uris)

  expect(codes).toEqual(uris.map((uri) => [uri, -32602]))
})

test.each(KINDS)('a get without a URI, or with one that is no text, is invalid (%s)', async (kind) => {
  const asked = [{}, { uri: 5 }, { uri: '' }, { uri: null }, { uri: [fx.uri('1up')] }, { uri: { uri: fx.uri('1up') } }]

  const replies = await Promise.all(asked.map((params) => fx.of(kind).call('skills/get', params)))
  const without = await fx.of(kind).call('skills/get')

  expect([...replies, without].map(({ error }) => error?.code)).toEqual([...asked, {}].map(() => -32602))
})

test.each(KINDS)('what get answers with has the skill and no cursor, and a type in one era (%s)', async (kind) => {
  const peer = fx.of(kind)

  const result = resultOf(await peer.call('skills/get', { uri: fx.uri('edge-count') }))

  expect(new Set(Object.keys(result))).toEqual(
    new Set(peer.era === 'modern' ? ['skill', 'resultType', 'ttlMs', 'cacheScope', '_meta'] : ['skill']),
  )
  expect(result.resultType).toBe(peer.era === 'modern' ? 'complete' : undefined)
})

test('whoever hears of a change gets the new digest, and so says the list', async () => {
  await using repository = await Repository.create()
  const document = '---\nname: tidy\ndescription: Tidies up\n---\n# tidy\n'
  await repository.commit({ 'tidy/SKILL.md': document, 'tidy/how.md': 'first\n' })
  await using served = await serve(repository)
  await using peers = await everyPeer(served)
  const uri = 'skill://fx/tidy/SKILL.md'
  const changed = 'skill://fx/tidy/how.md'
  const heard = await Promise.all(peers.all.map((peer) => peer.subscribe([changed])))
  const after = Buffer.from('second\n')

  await repository.commit({ 'tidy/how.md': after })
  const signals = heard.map((each) => each.next(({ method }) => method === 'notifications/resources/updated'))
  const synced = served.sync()
  const got = await Promise.all(
    peers.all.map(async (peer, index) => {
      await signals[index]
      return Promise.all([peer.call('skills/get', { uri }), peer.call('skills/list')])
    }),
  )
  await synced

  for (const [entry, list] of got) {
    expect(resultOf(entry).skill.resources).toEqual([
      { uri, digest: digestOf(Buffer.from(document)), size: document.length },
      { uri: changed, digest: digestOf(after), size: after.length },
    ])
    expect(resultOf(list).skills).toEqual([resultOf(entry).skill])
  }
})

test('every kind of client gets the same skills', async () => {
  for (const skill of fx.fixture.listed) {
    const replies = await Promise.all(fx.all.map((peer) => peer.call('skills/get', { uri: fx.uri(skill) })))

    expect(replies.map((reply) => resultOf(reply).skill)).toEqual(KINDS.map(() => fx.entry(skill)))
  }
})

test.each(KINDS)(
  'get knows a skill by every spelling of its URI, and names it by the published one (%s)',
  async (kind) => {
    const reply = await fx.of(kind).call('skills/get', { uri: fx.uri('git-workflow').replace('git', '%67i%74') })

    expect(resultOf(reply).skill).toEqual(fx.entry('git-workflow'))
  },
)

test.each(KINDS)('whoever asks for a skill that is withheld is told why (%s)', async (kind) => {
  const reply = await fx.of(kind).call('skills/get', { uri: fx.uri('no-desc') })

  expect(reply.error).toMatchObject({ code: -32602, message: expect.stringMatching(/withheld: .*no description/) })
})

async function entriesSeenBy(kind: Kind): Promise<Entry[]> {
  return itemsOf(await walkPages(fx.of(kind), 'skills/list'))
}

/** The error code that each URI is answered with; undefined for a skill. */
async function codesOf(kind: Kind, uris: readonly string[]): Promise<[uri: string, code: number | undefined][]> {
  const replies = await Promise.all(uris.map((uri) => fx.of(kind).call('skills/get', { uri })))
  return replies.map(({ error }, index) => [uris[index]!, error?.code])
}
