import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  KINDS,
  contentOf,
  digestOf,
  expectInvalidParams,
  expectNotFound,
  findingsAt,
  itemsOf,
  openScene,
  resultOf,
  walkPages,
} from './peers.ts'
import type { Entry, Kind, Scene } from './peers.ts'
import { openSmall, skillOf } from './small.ts'
import type { Small } from './small.ts'

const EMPTY_DIGEST = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

let fx: Scene
beforeAll(async () => {
  fx = await openScene()
})
afterAll(async () => {
  await fx[Symbol.asyncDispose]()
})

test.each(KINDS)('every resource has the digest and the size of its file (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)

  const resources = entries.flatMap((entry) => entry.resources)
  expect(resources.filter(({ digest }) => !/^sha256:[0-9a-f]{64}$/.test(digest))).toEqual([])
  expect(new Map(entries.map(({ uri, resources }) => [uri, resources]))).toEqual(
    new Map(fx.fixture.listed.map((skill) => [fx.uri(skill), fx.entry(skill).resources])),
  )
})

test.each(KINDS)('an entry names its own SKILL.md and each file once, none outside its folder (%s)', async (kind) => {
  for (const { uri, resources } of await entriesSeenBy(kind)) {
    const uris = resources.map((resource) => resource.uri)
    const root = uri.slice(0, -'SKILL.md'.length)

    expect(uris.filter((other) => other === uri)).toHaveLength(1)
    expect(new Set(uris).size).toBe(uris.length)
    expect(uris.filter((other) => !other.startsWith(root))).toEqual([])
  }
})

/** What git has below a skill and no entry names: links that lead out of it, and submodules. */
const LEFT_OUT = new Set(['link-escape/secret', 'link-escape/up', 'link-escape/loop', 'git-workflow-sub/vendor'])

test.each(KINDS)('the files of an entry are those that the commit has below its folder (%s)', async (kind) => {
  const tree = await fx.fixture.repository.git('ls-tree', '-r', '-z', '--name-only', 'main:skills')
  const paths = tree.split('\0').filter((path) => path !== '' && !LEFT_OUT.has(path))

  const entries = new Map((await entriesSeenBy(kind)).map((entry) => [entry.uri, entry]))

  for (const skill of fx.fixture.listed) {
    const below = paths.filter((path) => path.startsWith(`${skill}/`))
    const named = entries
      .get(fx.uri(skill))
      ?.resources.map(({ uri }) => decodeURIComponent(uri.slice(fx.prefix.length)))

    expect(named?.toSorted()).toEqual(below.toSorted())
  }
})

test.each(KINDS)('an empty file is one content item with empty text (%s)', async (kind) => {
  const uri = fx.uri('pdf-processing', 'empty.txt')

  const entry = resultOf(await fx.of(kind).call('skills/get', { uri: fx.uri('pdf-processing') })).skill
  const { item } = contentOf(await fx.of(kind).call('resources/read', { uri }))

  expect(entry.resources).toContainEqual({ uri, digest: EMPTY_DIGEST, size: 0 })
  expect(item.text).toBe('')
})

test.each(KINDS)('bytes that are no UTF-8 come as they are, in base64 (%s)', async (kind) => {
  const files = [
    ['pdf-processing', 'assets/logo.png'],
    ['pdf-processing', 'latin1.txt'],
    ['edge-size', 'part-1.bin'],
  ] as const

  for (const [skill, path] of files) {
    const expected = fx.fixture.filesOf(skill).get(path)!
    const { item, bytes } = contentOf(await fx.of(kind).call('resources/read', { uri: fx.uri(skill, path) }))

    expect(item.blob).toMatch(/^[A-Za-z0-9+/]+={0,2}$/)
    expect(bytes.length).toBe(expected.length)
    expect(digestOf(bytes)).toBe(digestOf(expected))
  }
})

/** Bytes that base64 and base64url write differently, with each of the three ends. */
const TELLING = [
  [Buffer.from([0xfb, 0xff, 0xfe]), '+//+'],
  [Buffer.from([0xfb, 0xff, 0xfe, 0xff]), '+//+/w=='],
  [Buffer.from([0xfb, 0xff, 0xfe, 0xff, 0xfe]), '+//+//4='],
] as const

describe('base64 has the standard alphabet and its padding, as strict decoders want it', () => {
  let small: Small

  beforeAll(async () => {
    const files = TELLING.map(([bytes], index) => [`telling/${index}.bin`, bytes] as const)
    const documents = { 'telling/SKILL.md': skillOf('telling') }
    small = await openSmall(
      { ...documents, ...Object.fromEntries(files) },
      { config: ['serve: { forms: [default, archives] }'] },
    )
  })
  afterAll(() => small[Symbol.asyncDispose]())

  test.each(KINDS)('in a read, the first and those that are answered from memory (%s)', async (kind) => {
    const peer = small.of(kind)
    for (const [index, [, text]] of TELLING.entries()) {
      const read = { uri: `skill://fx/telling/${index}.bin` }
      const replies = [await peer.call('resources/read', read), await peer.call('resources/read', read)]
      expect(replies.map((reply) => contentOf(reply).item.blob)).toEqual([text, text])
    }
  })

  test.each(KINDS)('in an archive (%s)', async (kind) => {
    const { item, bytes } = contentOf(await small.of(kind).call('resources/read', { uri: 'skill://fx/telling.zip' }))

    expect(item.blob).toBe(standardOf(bytes))
  })

  test.each(['M', 'LH'] as const)('in what a tool gives of a file (%s)', async (kind) => {
    const peer = small.of(kind)
    for (const [index, [, text]] of TELLING.entries()) {
      const asked = { name: 'read_skill_file', arguments: { id: 'telling', path: `${index}.bin` } }
      const { content } = resultOf(await peer.call('tools/call', asked))
      expect(JSON.parse(content[0].text)).toMatchObject({ encoding: 'base64', content: text })
    }
  })
})

/** RFC 4648, section 4, by another way than the one that is tested. */
function standardOf(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes))
}

test.each(KINDS)('line ends and a byte order mark come through as text (%s)', async (kind) => {
  for (const [path, beginning] of [
    ['crlf.md', 'one\r\n'],
    ['bom.md', '\u{FEFF}after'],
  ] as const) {
    const { item } = contentOf(await fx.of(kind).call('resources/read', { uri: fx.uri('pdf-processing', path) }))

    expect(item.text.startsWith(beginning)).toBe(true)
    expect(digestOf(Buffer.from(item.text))).toBe(digestOf(fx.fixture.filesOf('pdf-processing').get(path)!))
  }
})

test.each(KINDS)('a skill at the limit of files or of bytes is listed, got and read whole (%s)', async (kind) => {
  const entries = new Map((await entriesSeenBy(kind)).map((entry) => [entry.uri, entry]))

  for (const skill of ['edge-count', 'edge-size']) {
    const got = resultOf(await fx.of(kind).call('skills/get', { uri: fx.uri(skill) })).skill

    expect(got).toEqual(fx.entry(skill))
    expect(entries.get(fx.uri(skill))).toEqual(got)
    expect(await mismatchesOf(kind, got)).toEqual([])
  }
  expect(fx.entry('edge-count').resources).toHaveLength(512)
  expect(fx.entry('edge-size').resources.reduce((sum, { size }) => sum + size, 0)).toBe(16_777_216)
})

test.each(KINDS)('a skill over a limit is absent whole, and whoever asks is told which limit (%s)', async (kind) => {
  const peer = fx.of(kind)
  const over = {
    'over-count': [/limit of 512/, 'limit-files', 'files/1.md'],
    'over-size': [/limit of 16777216/, 'limit-bytes', 'part-1.bin'],
  } as const

  const uris = (await entriesSeenBy(kind)).flatMap(({ resources }) => resources.map(({ uri }) => uri))

  for (const [skill, [message, rule, file]] of Object.entries(over)) {
    const got = await peer.call('skills/get', { uri: fx.uri(skill) })
    const read = await peer.call('resources/read', { uri: fx.uri(skill, file) })
    const listed = await peer.call('resources/directory/read', { uri: fx.root(skill) })

    expect(uris.filter((uri) => uri.startsWith(fx.root(skill)))).toEqual([])
    expectInvalidParams(got)
    expect(got.error?.message).toMatch(message)
    expectNotFound(peer, read)
    expectInvalidParams(listed)
    expect(findingsAt(fx.served, skill)).toMatchObject([{ code: rule, message: expect.stringMatching(message) }])
  }
})

test.each(KINDS)('the resources of a skill from git are always a list (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)
  const got = await Promise.all(entries.map(({ uri }) => fx.of(kind).call('skills/get', { uri })))

  const all = [...entries, ...got.map((reply) => resultOf(reply).skill)]
  expect(all.map(({ resources }) => Array.isArray(resources))).toEqual(all.map(() => true))
  expect(all).toHaveLength(2 * fx.fixture.listed.length)
})

test.each(KINDS)('every file that an entry names is read with the bytes that it names (%s)', async (kind) => {
  for (const entry of await entriesSeenBy(kind)) expect(await mismatchesOf(kind, entry)).toEqual([])
})

test.each(KINDS)('no entry and no folder names a resource that is no file of the repository (%s)', async (kind) => {
  const entries = await entriesSeenBy(kind)
  const folders = ['', 'git-workflow', 'acme', 'acme/billing', 'outer', 'pdf-processing'].map((path) =>
    walkPages(fx.of(kind), 'resources/directory/read', { uri: fx.root(path).replace(/\/$/, '') }),
  )

  const children: Entry[] = (await Promise.all(folders)).flatMap(itemsOf)
  const uris = [...entries.flatMap(({ resources }) => resources), ...children].map(({ uri }) => uri)
  expect(uris.filter((uri) => /\/_manifest$|\.(?:tar\.gz|zip)$|index\.json$/.test(uri))).toEqual([])
  expect(children.length).toBeGreaterThan(10)
})

async function entriesSeenBy(kind: Kind): Promise<Entry[]> {
  return itemsOf(await walkPages(fx.of(kind), 'skills/list'))
}

/** The resources of an entry whose bytes, once read, are not what the entry says of them. */
async function mismatchesOf(kind: Kind, { resources }: Entry): Promise<string[]> {
  const read = await Promise.all(
    resources.map(async ({ uri, digest, size }) => {
      const { bytes } = contentOf(await fx.of(kind).call('resources/read', { uri }))
      return bytes.length === size && digestOf(bytes) === digest ? [] : [uri]
    }),
  )
  return read.flat()
}
