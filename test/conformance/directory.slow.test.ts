import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Peer } from '../support/clients/peer.ts'
import { serve } from '../support/served.ts'
import { EXACT, KINDS, everyPeer, inOrder, itemsOf, openScene, resultOf, walkPages } from './peers.ts'
import type { Peers, Scene } from './peers.ts'

const READ = 'resources/directory/read'
const FOLDER = 'inode/directory'
const INVALID_PARAMS = -32602

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(KINDS)('a directory read gives exactly the direct children, files with their metadata (%s)', async (kind) => {
  const listing = await readDirectory(scene.of(kind), scene.root('pdf-processing'))

  expect(inOrder(listing, uriOf)).toMatchObject(childrenOf('pdf-processing'))
})

test.each(KINDS)('a sub-directory is an inode/directory, its URI without a trailing slash (%s)', async (kind) => {
  const listing = await readDirectory(scene.of(kind), scene.root('pdf-processing'))

  const folders = listing.filter(({ mimeType }) => mimeType === FOLDER)
  expect(folders.map(uriOf).toSorted()).toEqual(
    ['assets', 'notes', 'references', 'scripts', 'templates'].map((name) => scene.uri('pdf-processing', name)),
  )
})

test.each(KINDS)('a read is not recursive, and a walk finds the files of the entry (%s)', async (kind) => {
  const peer = scene.of(kind)

  const templates = await readDirectory(peer, scene.uri('pdf-processing', 'templates'))
  const regional = await readDirectory(peer, scene.uri('pdf-processing', 'templates/regional'))
  const walked = await walk(peer, scene.root('pdf-processing'))

  expect(inOrder(templates, uriOf)).toMatchObject(childrenOf('pdf-processing', 'templates/'))
  expect(inOrder(regional, uriOf)).toMatchObject(childrenOf('pdf-processing', 'templates/regional/'))
  expect(walked.toSorted()).toEqual(scene.entry('pdf-processing').resources.map(uriOf).toSorted())
})

test.each(KINDS)('what is no directory is refused (%s)', async (kind) => {
  const peer = scene.of(kind)
  const wrong = [
    { uri: scene.uri('pdf-processing', 'templates/invoice.md') },
    { uri: scene.uri('pdf-processing', 'nowhere') },
    { uri: 'skill://' },
    { uri: 'skill://index.json' },
    {},
  ]

  const replies = await Promise.all(wrong.map((params) => peer.call(READ, params)))

  expect(replies.map(({ error }) => error?.code)).toEqual(wrong.map(() => INVALID_PARAMS))
})

test.each(KINDS)('a directory with one trailing slash is the directory without it (%s)', async (kind) => {
  const peer = scene.of(kind)
  const uri = scene.uri('pdf-processing', 'templates')

  const plain = await peer.call(READ, { uri })
  const slashed = await peer.call(READ, { uri: `${uri}/` })

  expect(resultOf(slashed)).toEqual(resultOf(plain))
  expect(plain.result.resources).toHaveLength(2)
})

test.each(KINDS)('the folders that lead to a skill are directories too (%s)', async (kind) => {
  const peer = scene.of(kind)

  const source = await readDirectory(peer, scene.prefix.slice(0, -1))
  const acme = await readDirectory(peer, scene.root('acme'))
  const billing = await readDirectory(peer, scene.root('acme/billing'))

  const topmost = new Set(scene.fixture.listed.map((skill) => scene.root(skill.split('/')[0]!)))
  expect(source.map(uriOf).toSorted()).toEqual([...topmost].toSorted())
  expect(acme).toEqual(['billing', 'support'].map((name) => folder(name, scene.root(`acme/${name}`))))
  expect(billing).toEqual([folder('refunds', scene.root('acme/billing/refunds'))])
})

test.each(KINDS)('the pages of a directory hold each child once, and a wrong cursor is refused (%s)', async (kind) => {
  await using served = await serve(scene.fixture.repository, { source: EXACT, config: TWO_A_PAGE })
  await using peers: Peers = await everyPeer(served)
  const peer = peers.of(kind)
  const uri = scene.uri('pdf-processing', 'notes')

  const pages = await walkPages(peer, READ, { uri })
  const wrong = await Promise.all(['zzz', 5].map((cursor) => peer.call(READ, { uri, cursor })))

  expect(pages.map(({ resources }) => resources.length)).toEqual([2, 2, 2])
  expect(inOrder(itemsOf(pages), uriOf)).toMatchObject(childrenOf('pdf-processing', 'notes/'))
  expect(wrong.map(({ error }) => error?.code)).toEqual([INVALID_PARAMS, INVALID_PARAMS])
})

test.each(KINDS)('a directory read says `resultType` on the modern era alone (%s)', async (kind) => {
  const peer = scene.of(kind)

  const result = resultOf(await peer.call(READ, { uri: scene.root('pdf-processing') }))

  expect(result.resultType).toBe(peer.era === 'modern' ? 'complete' : undefined)
})

test.each(KINDS)('a nested skill is a plain directory, its SKILL.md an ordinary file (%s)', async (kind) => {
  const peer = scene.of(kind)

  const outer = await readDirectory(peer, scene.root('outer'))
  const inner = await readDirectory(peer, scene.root('outer/inner'))

  expect(inOrder(outer, uriOf)).toMatchObject(childrenOf('outer'))
  expect(outer).toContainEqual(folder('inner', scene.root('outer/inner')))
  expect(inOrder(inner, uriOf)).toMatchObject(childrenOf('outer', 'inner/'))
})

test.each(KINDS)('a directory is named without dot segments and without empty ones (%s)', async (kind) => {
  const peer = scene.of(kind)
  const root = scene.root('pdf-processing')
  const wrong = [
    `${root}/templates/..`,
    `${root}/../pdf-processing`,
    `${root}/templates/%2e%2e`,
    `${root}/%2E%2e/pdf-processing`,
    `${root}//templates`,
    `${root}/templates//`,
  ]

  const replies = await Promise.all(wrong.map((uri) => peer.call(READ, { uri })))

  expect(replies.map(({ error }) => error?.code)).toEqual(wrong.map(() => INVALID_PARAMS))
})

const TWO_A_PAGE = ['limits:', '  listing:', '    entries: 2']

interface Child {
  readonly uri: string
  readonly name: string
  readonly mimeType: unknown
  readonly size?: number
}

async function readDirectory(peer: Peer, uri: string): Promise<Child[]> {
  return resultOf(await peer.call(READ, { uri })).resources
}

/** The URIs of every file below a directory, found by reading one directory after another. */
async function walk(peer: Peer, uri: string): Promise<string[]> {
  const children = await readDirectory(peer, uri)
  const below = children.map(async ({ uri, mimeType }) => (mimeType === FOLDER ? walk(peer, uri) : [uri]))
  return (await Promise.all(below)).flat()
}

/** The children of a folder of a skill as the fixture has them, by URI. `folder` is empty or ends with a slash. */
function childrenOf(skill: string, folderPath = ''): Child[] {
  const children = new Map<string, Child>()
  for (const [path, bytes] of scene.fixture.filesOf(skill)) {
    if (!path.startsWith(folderPath)) continue
    const [name = '', ...below] = path.slice(folderPath.length).split('/')
    const uri = scene.uri(skill, folderPath + name)
    children.set(uri, below.length > 0 ? folder(name, uri) : file(`${skill}/${path}`, uri, bytes))
  }
  return inOrder([...children.values()], uriOf)
}

function folder(name: string, uri: string): Child {
  return { uri, name, mimeType: FOLDER }
}

/** A SKILL.md is listed under the name of its skill, any other file under its own. */
function file(path: string, uri: string, bytes: Buffer): Child {
  const [name = '', folderName = ''] = path.split('/').toReversed()
  const mimeType = name.endsWith('.md') ? 'text/markdown' : expect.stringMatching(/^(?!inode\/)[a-z]+\/[\w.+-]+/)
  return { uri, name: isDocument(path) ? folderName : name, mimeType, size: bytes.length }
}

function isDocument(path: string): boolean {
  const skill = path.replace(/\/SKILL\.md$/, '')
  return skill !== path && scene.fixture.listed.includes(skill)
}

function uriOf({ uri }: { readonly uri: string }): string {
  return uri
}
