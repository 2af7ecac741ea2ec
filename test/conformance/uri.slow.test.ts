import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { unlessAbsent } from '../../src/sync/store/files/disk-error.ts'
import type { Content } from '../support/git/repository.ts'
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
  resultOf,
  walkPages,
} from './peers.ts'
import type { Entry, Kind, Scene } from './peers.ts'

let fx: Scene
beforeAll(async () => {
  fx = await openScene()
})
afterAll(async () => {
  await fx[Symbol.asyncDispose]()
})

test.each(KINDS)('an entry is its folder and SKILL.md, its resources lie in that folder (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  expect(entries.map(({ uri }) => uri).toSorted()).toEqual(fx.fixture.listed.map((skill) => fx.uri(skill)).toSorted())
  for (const skill of fx.fixture.listed) {
    const entry = entries.find(({ uri }) => uri === `${fx.root(skill)}/SKILL.md`)
    expect(entry?.resources.filter(({ uri }) => !uri.startsWith(`${fx.root(skill)}/`))).toEqual([])
  }
})

test.each(KINDS)('the folder of every entry is called as its frontmatter says (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  expect(entries.map(({ frontmatter }) => frontmatter)).toMatchObject(
    entries.map(({ uri }) => ({ name: uri.split('/').at(-2) })),
  )
})

test.each(KINDS)('a skill whose folder is called otherwise is absent with names: exact (%s)', async (kind) => {
  const peer = fx.of(kind)
  const uris = [fx.uri('bad-dir'), fx.uri('other')]

  const entries = await entriesSeenBy(kind)
  const replies = await Promise.all(uris.map((uri) => peer.call('skills/get', { uri })))

  expect(entries.filter(({ uri }) => uris.includes(uri))).toEqual([])
  replies.forEach(expectInvalidParams)
  expect(findingsAt(fx.served, 'bad-dir')).toMatchObject([
    { code: 'name-unlike-folder', message: expect.stringMatching(/"other".*"bad-dir"/) },
  ])
})

test('a skill whose folder is called otherwise is served under its name with names: remap', async () => {
  await using served = await serve(fx.fixture.repository, { source: ['root: skills'] })
  await using peers = await everyPeer(served)
  const bytes = fx.fixture.filesOf('bad-dir').get('SKILL.md')!

  for (const peer of peers.all) {
    const listed: Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
    const got = await peer.call('skills/get', { uri: fx.uri('other') })
    const read = await peer.call('resources/read', { uri: fx.uri('other') })
    const former = await peer.call('skills/get', { uri: fx.uri('bad-dir') })

    expect(listed.map(({ uri }) => uri)).toContain(fx.uri('other'))
    expect(listed.map(({ uri }) => uri)).not.toContain(fx.uri('bad-dir'))
    expect(resultOf(got).skill).toEqual({
      uri: fx.uri('other'),
      frontmatter: { name: 'other', description: 'Must not be listed' },
      resources: [{ uri: fx.uri('other'), digest: digestOf(bytes), size: bytes.length }],
    })
    expect(contentOf(read).bytes).toEqual(bytes)
    expectInvalidParams(former)
  }
  expect(findingsAt(served, 'bad-dir')).toMatchObject([
    { code: 'name-unlike-folder', message: expect.stringMatching(/"other".*"bad-dir"/) },
  ])
})

const LONGEST = 'n'.repeat(64)

test.each(KINDS)('a skill whose name breaks the rules is in no list, one at their edge is (%s)', async (kind) => {
  const peer = fx.of(kind)
  const invalid = ['Upper', '-lead', 'trail-', 'dou--ble', `${LONGEST}n`]

  const uris = (await entriesSeenBy(kind)).map(({ uri }) => uri)
  const replies = await Promise.all(invalid.map((skill) => peer.call('skills/get', { uri: fx.uri(skill) })))

  expect(invalid.filter((skill) => uris.includes(fx.uri(skill)))).toEqual([])
  replies.forEach(expectInvalidParams)
  expect(invalid.flatMap((skill) => findingsAt(fx.served, skill).map(({ code }) => code))).toEqual(
    invalid.map(() => 'name-invalid'),
  )
  expect(uris).toEqual(expect.arrayContaining([fx.uri('1up'), fx.uri(LONGEST)]))
})

test.each(KINDS)('a name with a space before it is not trimmed into a valid one (%s)', async (kind) => {
  const peer = fx.of(kind)

  const uris = (await entriesSeenBy(kind)).map(({ uri }) => decodeURIComponent(uri))
  const asked = ['padded', ' padded'].map((skill) => peer.call('skills/get', { uri: fx.uri(skill) }))

  expect(uris.filter((uri) => uri.includes('padded'))).toEqual([])
  for (const reply of await Promise.all(asked)) expectInvalidParams(reply)
  expect(findingsAt(fx.served, 'padded')).toMatchObject([{ code: 'name-invalid' }])
})

test.each(KINDS)('a description has one to 1,024 characters, else the skill is absent (%s)', async (kind) => {
  const invalid = ['no-desc', 'empty-desc', 'description-too-long']

  const entries = new Map((await entriesSeenBy(kind)).map((entry) => [entry.uri, entry]))

  expect(entries.get(fx.uri('longest-description'))?.frontmatter).toEqual({
    name: 'longest-description',
    description: 'd'.repeat(1024),
  })
  expect(invalid.filter((skill) => entries.has(fx.uri(skill)))).toEqual([])
  expect(invalid.map((skill) => findingsAt(fx.served, skill).map(({ code }) => code))).toEqual([
    ['description-missing'],
    ['description-missing'],
    ['description-too-long'],
  ])
})

/** Names that must be encoded, and how they stand in a URI. */
const ENCODED = {
  'setup guide.md': 'setup%20guide.md',
  '100%.md': '100%25.md',
  'ünï.md': '%C3%BCn%C3%AF.md',
  'q?x#y.md': 'q%3Fx%23y.md',
  'a b.md': 'a%20b.md',
  'a%20b.md': 'a%2520b.md',
}

test.each(KINDS)('a name is percent-encoded in its URI, and read back by it (%s)', async (kind) => {
  const peer = fx.of(kind)
  const { resources } = (await entriesSeenBy(kind)).find(({ uri }) => uri === fx.uri('pdf-processing'))!

  for (const [name, inUri] of Object.entries(ENCODED)) {
    const uri = `${fx.root('pdf-processing')}/notes/${inUri}`
    const { item, bytes } = contentOf(await peer.call('resources/read', { uri }))

    expect(resources.filter((resource) => resource.uri === uri)).toHaveLength(1)
    expect(item.uri).toBe(uri)
    expect(bytes).toEqual(fx.fixture.filesOf('pdf-processing').get(`notes/${name}`))
  }
})

test.each(KINDS)('a URI with raw spaces and letters, or other hex case, leads to the same file (%s)', async (kind) => {
  const peer = fx.of(kind)
  const spellings = {
    'setup guide.md': ['setup guide.md', 'setup%20guide%2Emd', '%73etup%20guide.md'],
    'ünï.md': ['ünï.md', '%c3%bcn%c3%af.md', '%C3%BCnï.md'],
    'a b.md': ['a b.md'],
  }

  for (const [name, written] of Object.entries(spellings)) {
    for (const spelling of written) {
      const uri = `${fx.root('pdf-processing')}/notes/${spelling}`
      const { item, bytes } = contentOf(await peer.call('resources/read', { uri }))

      expect(item.uri).toBe(uri)
      expect(bytes).toEqual(fx.fixture.filesOf('pdf-processing').get(`notes/${name}`))
    }
  }
})

/** Paths below the prefix that folding their dot segments would turn into something that is served. */
const DOTTED = [
  'git-workflow/../git-workflow/SKILL.md',
  'git-workflow/x/../SKILL.md',
  'git-workflow/./SKILL.md',
  'git-workflow/SKILL.md/.',
  '../fx/git-workflow/SKILL.md',
  './git-workflow/SKILL.md',
  'pdf-processing/templates/..',
  'pdf-processing/.',
]

test.each(KINDS)('a URI with dot segments leads nowhere (%s)', async (kind) => {
  expect(
    await refusalsOf(
      kind,
      DOTTED.map((path) => fx.prefix + path),
    ),
  ).toEqual(
    nowhere(
      kind,
      DOTTED.map((path) => fx.prefix + path),
    ),
  )
})

test.each(KINDS)('encoded dot segments lead nowhere either (%s)', async (kind) => {
  const encodings = ['%2e%2e', '%2E%2e', '.%2e', '%2e.']
  const uris = encodings.flatMap((dots) =>
    DOTTED.map((path) => fx.prefix + path.replaceAll(/(?<=^|\/)\.\.?(?=\/|$)/g, (at) => (at === '.' ? '%2e' : dots))),
  )

  expect(await refusalsOf(kind, uris)).toEqual(nowhere(kind, uris))
})

test.each(KINDS)(
  'a URI with query, fragment, user, port or a slash behind the file leads nowhere (%s)',
  async (kind) => {
    const uri = fx.uri('git-workflow')
    const uris = [
      `${uri}?x`,
      `${uri}?`,
      `${uri}#y`,
      `${uri}#`,
      uri.replace('//', '//u@'),
      uri.replace('//', '//u:p@'),
      uri.replace('//fx', '//fx:80'),
      uri.replace('//fx', '//fx:'),
      `${uri}/`,
    ]

    expect(await refusalsOf(kind, uris)).toEqual(nowhere(kind, uris))
  },
)

test.each(KINDS)('a URI whose segments hide a separator, a NUL or broken encoding leads nowhere (%s)', async (kind) => {
  const root = fx.root('pdf-processing')
  const uris = [
    `${root}/templates%2Finvoice.md`,
    `${root}/templates%2finvoice.md`,
    `${root}%2fSKILL.md`,
    `${root}/templates\\invoice.md`,
    `${root}/templates%5cinvoice.md`,
    `${root}//SKILL.md`,
    `${root}/templates//invoice.md`,
    `${root}/SKILL.md%00`,
    `${root}/SKILL.md%0`,
    `${root}/%FF.md`,
    `${root}/notes/%c0%ae%c0%ae/SKILL.md`,
    `${root}/notes/%252e%252e/SKILL.md`,
    `${root}/notes/100%.md`,
    `${fx.prefix}/pdf-processing/SKILL.md`,
    'skill://',
    'skill:///fx/pdf-processing/SKILL.md',
    'skill:/fx/pdf-processing/SKILL.md',
    'file:///fx/pdf-processing/SKILL.md',
    ` ${root}/SKILL.md`,
    `${root}/SKILL.md\n`,
    `${root}/${'a/'.repeat(5_000)}SKILL.md`,
  ]

  expect(await refusalsOf(kind, uris)).toEqual(nowhere(kind, uris))
})

test.each(KINDS)('a path counts to the letter, on a disk that folds case too (%s)', async (kind) => {
  const root = fx.root('git-workflow')
  const uris = [`${root}/skill.md`, `${root}/Skill.md`, `${fx.prefix}Git-Workflow/SKILL.md`, 'skill://FX/1up/SKILL.md']

  expect(await refusalsOf(kind, uris)).toEqual(nowhere(kind, uris))
})

test.each(KINDS)('resources/list describes each SKILL.md by its frontmatter (%s)', async (kind) => {
  const resources = itemsOf(await walkPages(fx.of(kind), 'resources/list'))

  expect(resources.toSorted((a, b) => (a.uri < b.uri ? -1 : 1))).toEqual(
    fx.fixture.listed
      .map((skill) => ({
        uri: fx.uri(skill),
        ...described(fx.fixture.frontmatter.get(skill)),
        mimeType: 'text/markdown',
        size: fx.fixture.filesOf(skill).get('SKILL.md')!.length,
      }))
      .toSorted((a, b) => (a.uri < b.uri ? -1 : 1)),
  )
})

test.each(KINDS)('whatever stands in _meta stands under the name of who put it there (%s)', async (kind) => {
  const peer = fx.of(kind)
  const uri = fx.uri('pdf-processing')

  const replies = await Promise.all([
    peer.call('resources/list'),
    peer.call('resources/templates/list'),
    peer.call('resources/directory/read', { uri: fx.root('pdf-processing') }),
    peer.call('resources/read', { uri }),
    peer.call('skills/list'),
    peer.call('skills/get', { uri }),
  ])

  const keys = replies.flatMap((reply) => metaKeysIn(resultOf(reply)))
  expect(keys.filter((key) => !/^[a-z\d-]+(?:\.[a-z\d-]+)+\/./.test(key))).toEqual([])
  expect(keys.filter((key) => key.startsWith('io.modelcontextprotocol.skills/'))).toEqual([])
})

test.each(KINDS)('a link inside a skill is a file of it, with the bytes it leads to (%s)', async (kind) => {
  const real = fx.fixture.filesOf('link-ok').get('real.md')!
  const uri = fx.uri('link-ok', 'alias.md')

  const { resources } = (await entriesSeenBy(kind)).find((entry) => entry.uri === fx.uri('link-ok'))!
  const read = await fx.of(kind).call('resources/read', { uri })

  expect(resources).toContainEqual({ uri, digest: digestOf(real), size: real.length })
  expect(contentOf(read).bytes).toEqual(real)
})

test.each(KINDS)('nothing of a file outside of the repository is ever answered (%s)', async (kind) => {
  const peer = fx.of(kind)
  const root = fx.root('link-escape')
  const below = ['secret', 'secret/', 'up', 'up/bad-dir/SKILL.md', 'up/git-workflow/SKILL.md', 'loop', 'loop/loop']
  const beside = ['.tar.gz', '.zip', '/_manifest', '/SKILL.md']
  const uris = [...below.map((path) => `${root}/${path}`), ...beside.map((end) => root + end), 'skill://index.json']

  const replies = await Promise.all([
    peer.call('resources/list'),
    peer.call('skills/list'),
    peer.call('tools/list'),
    peer.call('tools/call', { name: 'get_skill', arguments: { id: 'link-escape' } }),
    peer.call('resources/directory/read', { uri: root }),
    ...['resources/read', 'skills/get', 'resources/directory/read'].flatMap((method) =>
      uris.map((uri) => peer.call(method, { uri })),
    ),
  ])

  const { canary } = fx.fixture
  const answered = replies.map(({ result, error }) => JSON.stringify({ result, error }))
  const blobs = answered.flatMap((json) => [...json.matchAll(/"blob":"([^"]*)"/g)].map(([, blob]) => blob ?? ''))
  expect([...answered, ...blobs.map((blob) => atob(blob))].filter((text) => text.includes(canary))).toEqual([])
  expect(answered.filter((json) => json.includes('link-escape/secret"') && json.includes('"result"'))).toEqual([])
})

test('nothing of a file outside of the repository is ever kept, and the links are flagged', async () => {
  const kept = await readdir(fx.served.config.state, { recursive: true, withFileTypes: true })
  const files = kept.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))

  const holding = await Promise.all(
    // One that is gone by now was being written, and has another name.
    files.map(async (file) => ((await unlessAbsent(readFile(file)))?.includes(fx.fixture.canary) ? [file] : [])),
  )

  expect(kept.filter((entry) => entry.isSymbolicLink())).toEqual([])
  expect(holding.flat()).toEqual([])
  for (const link of ['secret', 'up', 'loop']) {
    expect(findingsAt(fx.served, `link-escape/${link}`)).toMatchObject([{ code: 'link-refused' }])
  }
})

test('links that lead out of a skill and in circles do not keep a first sync from its end', async () => {
  await using served = await serve(fx.fixture.repository, { source: EXACT })
  await using peers = await everyPeer(served)

  const reply = await peers.of('M').call('skills/get', { uri: fx.uri('link-escape') })

  expect(resultOf(reply).skill).toEqual(fx.entry('link-escape'))
  expect(fx.entry('link-escape').resources).toHaveLength(1)
})

test.each(KINDS)('a hidden file of a skill is one of its files, and nothing of git itself is (%s)', async (kind) => {
  const uris = [
    `${fx.root('pdf-processing')}/.git/config`,
    `${fx.prefix}.git/HEAD`,
    `${fx.prefix}.git/config`,
    'skill://.git/HEAD',
  ]

  const { resources } = (await entriesSeenBy(kind)).find(({ uri }) => uri === fx.uri('pdf-processing'))!

  expect(resources.map(({ uri }) => uri)).toContain(`${fx.root('pdf-processing')}/.hidden.md`)
  expect(await refusalsOf(kind, uris)).toEqual(nowhere(kind, uris))
})

test.each(KINDS)('a submodule is nobody’s file, and status says where it is (%s)', async (kind) => {
  const root = fx.root('git-workflow-sub')
  const uris = [`${root}/vendor`, `${root}/vendor/`, `${root}/vendor/SKILL.md`]

  const entry = (await entriesSeenBy(kind)).find(({ uri }) => uri === fx.uri('git-workflow-sub'))
  const children = await fx.of(kind).call('resources/directory/read', { uri: root })

  expect(isSubmodule(fx.fixture.files.get('skills/git-workflow-sub/vendor'))).toBe(true)
  expect(entry).toEqual(fx.entry('git-workflow-sub'))
  expect(resultOf(children).resources).toMatchObject([{ uri: fx.uri('git-workflow-sub') }])
  expect(await refusalsOf(kind, uris)).toEqual(nowhere(kind, uris))
  expect(findingsAt(fx.served, 'git-workflow-sub/vendor')).toMatchObject([{ code: 'submodule' }])
})

async function entriesSeenBy(kind: Kind): Promise<Entry[]> {
  return itemsOf(await walkPages(fx.of(kind), 'skills/list'))
}

type Refusal = readonly [uri: string, read: number | undefined, get: number | undefined, list: number | undefined]

/** The errors that a URI is answered with, asked for as a file, as a skill and as a folder. */
async function refusalsOf(kind: Kind, uris: readonly string[]): Promise<Refusal[]> {
  const methods = ['resources/read', 'skills/get', 'resources/directory/read']
  const codesOf = async (uri: string): Promise<Refusal> => {
    const replies = await Promise.all(methods.map((method) => fx.of(kind).call(method, { uri })))
    const [read, get, list] = replies.map(({ error }) => error?.code)
    return [uri, read, get, list]
  }
  return Promise.all(uris.map(codesOf))
}

/** The refusals of URIs that lead nowhere: `nf` for the file, `ip` for the others. */
function nowhere(kind: Kind, uris: readonly string[]): Refusal[] {
  const notFound = fx.of(kind).era === 'modern' ? -32602 : -32002
  return uris.map((uri) => [uri, notFound, -32602, -32602])
}

/** What a frontmatter gives a resource. */
function described(frontmatter: unknown): object {
  return z.object({ name: z.string(), description: z.string() }).parse(frontmatter)
}

function metaKeysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === '_meta' ? Object.keys(inner) : metaKeysIn(inner)))
}

function isSubmodule(content: Content | undefined): boolean {
  return typeof content === 'object' && 'submodule' in content
}
