import { afterAll, beforeAll, expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import {
  EXACT,
  KINDS,
  everyPeer,
  expectInvalidParams,
  findingsAt,
  inOrder,
  itemsOf,
  openScene,
  resultOf,
  walkPages,
} from './peers.ts'
import type { Entry, Kind, Peers, Scene } from './peers.ts'

let fx: Scene
let paged: Peers
beforeAll(async () => {
  fx = await openScene()
  const config = ['limits: { listing: { entries: 2 } }']
  const served = await serve(fx.fixture.repository, { source: EXACT, config })
  const peers = await everyPeer(served)
  paged = {
    ...peers,
    async [Symbol.asyncDispose]() {
      await peers[Symbol.asyncDispose]()
      await served[Symbol.asyncDispose]()
    },
  }
})
afterAll(async () => {
  await paged[Symbol.asyncDispose]()
  await fx[Symbol.asyncDispose]()
})

test.each(KINDS)('the list holds the valid skills, nested ones too, each once (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  expect(entries.map(({ uri }) => uri).toSorted()).toEqual(fx.fixture.listed.map((skill) => fx.uri(skill)).toSorted())
  expect(fx.fixture.listed).toEqual(expect.arrayContaining(['outer', 'outer/inner']))
})

test.each(KINDS)('the list of an unchanged catalog is the same each time (%s)', async (kind) => {
  const first = await fx.of(kind).call('skills/list')
  const second = await fx.of(kind).call('skills/list')

  expect(resultOf(second)).toEqual(resultOf(first))
})

test.each(KINDS)('frontmatter is the JSON that its YAML means, of every type (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  expect(frontmatterOf(entries, 'yaml-types')).toEqual(fx.fixture.frontmatter.get('yaml-types'))
  expect(entries.map(({ frontmatter }) => frontmatter)).toEqual(
    entries.map(({ uri }) => fx.fixture.frontmatter.get(skillAt(uri))),
  )
})

test.each(KINDS)('a byte order mark and Windows line ends keep no skill out (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  for (const skill of ['bom-skill', 'crlf-skill']) {
    expect(frontmatterOf(entries, skill)).toEqual(fx.fixture.frontmatter.get(skill))
  }
})

test.each(KINDS)('three dashes in a value or in the body do not end the frontmatter (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  expect(frontmatterOf(entries, 'yaml-types')).toMatchObject({ block: 'first line\n --- \nlast line\n', count: 3 })
  expect(frontmatterOf(entries, 'acme/support/refunds')).toEqual({
    name: 'refunds',
    description: 'Answers questions about refunds',
  })
})

test.each(KINDS)('unreadable frontmatter keeps its own skill out and no other (%s)', async (kind) => {
  const reasons = {
    'list-fm': 'frontmatter-invalid',
    'scalar-fm': 'frontmatter-invalid',
    unterminated: 'frontmatter-unterminated',
    'bad-yaml': 'frontmatter-invalid',
  }

  const uris = (await entriesSeenBy(kind)).map(({ uri }) => uri)

  expect(uris.toSorted()).toEqual(fx.fixture.listed.map((skill) => fx.uri(skill)).toSorted())
  expect(fx.fixture.listed.filter((skill) => skill in reasons)).toEqual([])
  for (const [skill, rule] of Object.entries(reasons)) {
    expect(findingsAt(fx.served, skill)).toMatchObject([{ code: rule, message: expect.stringMatching(/.{20}/) }])
  }
})

test.each(KINDS)('two skills of one name are both listed, each under its own URI (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  const refunds = entries.filter(({ uri }) => uri.endsWith('/refunds/SKILL.md'))

  expect(refunds.toSorted((a, b) => (a.uri < b.uri ? -1 : 1))).toEqual([
    fx.entry('acme/billing/refunds'),
    fx.entry('acme/support/refunds'),
  ])
})

test.each(KINDS)('the pages of the list hold together what the list holds, each entry whole (%s)', async (kind) => {
  const pages = await walkPages(paged.of(kind), 'skills/list')

  const expected = inOrder(
    fx.fixture.listed.map((skill) => fx.entry(skill)),
    ({ uri }) => uri,
  )
  expect(inOrder<Entry>(itemsOf(pages), ({ uri }) => uri)).toEqual(expected)
  expect(pages.map(({ skills }) => skills.length)).toEqual(sizesOfPages(expected.length, 2))
  expect(new Set(pages.map(({ cacheScope }) => cacheScope)).size).toBe(1)
  expect(pages.findIndex((page) => !('nextCursor' in page))).toBe(pages.length - 1)
})

test.each(KINDS)('the pages of resources/list hold together each SKILL.md once (%s)', async (kind) => {
  const pages = await walkPages(paged.of(kind), 'resources/list')

  const uris: string[] = itemsOf(pages).map(({ uri }) => uri)
  expect(uris.toSorted()).toEqual(fx.fixture.listed.map((skill) => fx.uri(skill)).toSorted())
  expect(pages.map(({ resources }) => resources.length)).toEqual(sizesOfPages(uris.length, 2))
})

test.each(KINDS)('a cursor that was never given is refused (%s)', async (kind) => {
  const given: string = resultOf(await paged.of(kind).call('skills/list')).nextCursor
  const cursors = ['zzz', 5, '', null, {}, [given], `${given}0`, given.slice(0, -1), given.toUpperCase(), `${given}-1`]

  for (const peer of [fx.of(kind), paged.of(kind)]) {
    const replies = await Promise.all(cursors.map((cursor) => peer.call('skills/list', { cursor })))

    replies.forEach(expectInvalidParams)
    expect(replies).toHaveLength(cursors.length)
  }
})

test.each(KINDS)('a cursor of one listing is refused by another (%s)', async (kind) => {
  const { nextCursor: cursor } = resultOf(await paged.of(kind).call('skills/list'))

  const replies = await Promise.all([
    paged.of(kind).call('resources/list', { cursor }),
    paged.of(kind).call('resources/templates/list', { cursor }),
    paged.of(kind).call('resources/directory/read', { uri: fx.root('edge-count'), cursor }),
  ])

  replies.forEach(expectInvalidParams)
  expect(resultOf(await paged.of(kind).call('skills/list', { cursor })).skills).toHaveLength(2)
})

test('a cursor is refused once the catalog has moved on, and the listing starts again whole', async () => {
  await using repository = await repositoryOf('a', 'b', 'c')
  await using served = await serve(repository, { config: ['limits: { listing: { entries: 2 } }'] })
  await using peers = await everyPeer(served)
  const peer = peers.of('M')
  const { nextCursor: cursor } = resultOf(await peer.call('skills/list'))

  await repository.commit({ 'd/SKILL.md': skillText('d') })
  await served.sync()

  expectInvalidParams(await peer.call('skills/list', { cursor }))
  expect(itemsOf(await walkPages(peer, 'skills/list')).map(({ uri }) => uri)).toEqual(
    ['a', 'b', 'c', 'd'].map((name) => `skill://fx/${name}/SKILL.md`),
  )
})

test('a page that is full by its bytes ends there, and holds one entry at the least', async () => {
  await using repository = await repositoryOf('a', 'b', 'c')
  await using served = await serve(repository, { config: ['limits: { listing: { bytes: 1 } }'] })
  await using peers = await everyPeer(served)

  for (const peer of peers.all) {
    const pages = await walkPages(peer, 'skills/list')

    expect(pages.map(({ skills }) => skills.length)).toEqual([1, 1, 1])
  }
})

test.each(KINDS)('params that are absent, empty or of another method change nothing (%s)', async (kind) => {
  const absent = await fx.of(kind).call('skills/list')
  const others = await Promise.all([{}, { foo: 1 }].map((params) => fx.of(kind).call('skills/list', params)))

  for (const reply of others) expect(resultOf(reply)).toEqual(resultOf(absent))
})

test.each([
  ['without a file', {}],
  ['without a skill', { 'README.md': '# Nothing here\n' }],
])('the list of a repository %s is empty', async (_, files) => {
  await using repository = await Repository.create()
  await repository.commit(files)
  await using served = await serve(repository)
  await using peers = await everyPeer(served)

  for (const peer of peers.all) {
    expect(resultOf(await peer.call('skills/list'))).toMatchObject({ skills: [] })
    expect(resultOf(await peer.call('resources/list'))).toMatchObject({ resources: [] })
  }
})

test.each(KINDS)('an entry has no key that the extension does not give it (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  const keys = new Set(entries.flatMap((entry) => Object.keys(entry)))
  const keysBelow = new Set(entries.flatMap(({ resources }) => resources.flatMap((resource) => Object.keys(resource))))
  keys.delete('_meta')
  expect(keys).toEqual(new Set(['uri', 'frontmatter', 'resources']))
  expect(keysBelow).toEqual(new Set(['uri', 'digest', 'size']))
})

async function entriesSeenBy(kind: Kind): Promise<Entry[]> {
  return itemsOf(await walkPages(fx.of(kind), 'skills/list'))
}

function frontmatterOf(entries: readonly Entry[], skill: string): unknown {
  return entries.find(({ uri }) => uri === fx.uri(skill))?.frontmatter
}

function skillAt(uri: string): string {
  return uri.slice(fx.prefix.length, -'/SKILL.md'.length)
}

/** Full pages, and the rest on the last one. */
function sizesOfPages(items: number, size: number): number[] {
  return Array.from({ length: Math.ceil(items / size) }, (_, page) => Math.min(size, items - page * size))
}

async function repositoryOf(...names: string[]): Promise<Repository> {
  const repository = await Repository.create()
  await repository.commit(Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skillText(name)])))
  return repository
}

function skillText(name: string): string {
  return `---\nname: ${name}\ndescription: Does ${name}\n---\n# ${name}\n`
}
