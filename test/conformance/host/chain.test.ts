import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import { buildFixture } from '../../support/content/fixture.ts'
import type { Fixture } from '../../support/content/fixture.ts'
import { Mirror } from '../../support/mirror.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'
import { EXACT, digestOf, encoded, inOrder, itemsOf, metaOf, walkPages } from '../peers.ts'
import type { Entry } from '../peers.ts'

let chain: Chain

beforeAll(async () => {
  chain = await Chain.open()
})

afterAll(() => chain[Symbol.asyncDispose]())

test('what a daemon has of git, one that mirrors it has too: every skill, file, digest and frontmatter, at a URI below its own', async () => {
  await using peer = await modernHttp(chain.first.url)

  const listed: readonly Entry[] = await chain.second.listed()

  const upstream: Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
  expect(listed).toEqual(upstream.map(mirrored))
  expect(listed.map(({ uri }) => uri)).toEqual(
    chain.fixture.listed.map((path) => `skill://b/fx/${encoded(path)}/SKILL.md`).toSorted(),
  )
  for (const path of chain.fixture.listed) expect(await entryOf(path)).toEqual(expected(path))
  expect(chain.second.findings('b')).toEqual([])
})

test('with the first daemon gone the second lists what it did and gives what it read, and the rest is an error', async () => {
  await using broken = await Chain.open()
  const { second, fixture } = broken
  const kept = [...fixture.filesOf('pdf-processing')].filter(([path]) => path !== 'assets/logo.png')
  for (const [path] of kept) await second.bytesOf(fileUri('pdf-processing', path))
  const before = await second.listed()

  await broken.stopFirst()
  await second.pull()

  expect(await second.listed()).toEqual(before)
  expect(second.source('b').problem?.code).toBe('source-unreachable')
  for (const [path, bytes] of kept) expect(await second.bytesOf(fileUri('pdf-processing', path)), path).toEqual(bytes)
  expect(await second.bytesOf(fileUri('pdf-processing', 'assets/logo.png'))).toBe(-32_603)
  expect(await second.bytesOf(fileUri('git-workflow', 'SKILL.md'))).toBe(-32_603)
})

test('the index and the manifests of the second daemon say what its list says, and no file is read for them', async () => {
  const { second } = chain
  const listed = (await second.listed()).map(withoutMeta)

  const index = JSON.parse(String(await second.bytesOf('skill://index.json')))
  const manifests = await Promise.all(listed.map(({ uri }) => second.bytesOf(uri.replace(/SKILL\.md$/, '_manifest'))))

  expect(index.skills.map(withoutMeta)).toEqual(listed)
  expect(manifests.map((bytes) => JSON.parse(String(bytes)).files)).toEqual(listed.map(filesIn))
  expect(await readdir(join(second.state, 'upstreams'))).toEqual([])
})

/** A daemon that serves FX, and one that mirrors that daemon. */
class Chain implements AsyncDisposable {
  readonly fixture: Fixture
  readonly first: Served
  readonly second: Mirror
  #isWhole = true

  private constructor(fixture: Fixture, first: Served, second: Mirror) {
    this.fixture = fixture
    this.first = first
    this.second = second
  }

  static async open(): Promise<Chain> {
    const fixture = await buildFixture()
    const first = await serve(fixture.repository, { source: EXACT })
    return new Chain(fixture, first, await Mirror.start({ b: `mcp: "${first.url}", approval: none` }))
  }

  async stopFirst(): Promise<void> {
    this.#isWhole = false
    await this.first[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second[Symbol.asyncDispose]()
    if (this.#isWhole) await this.stopFirst()
    await this.fixture[Symbol.asyncDispose]()
  }
}

/** What the second daemon says of a skill of the fixture, its files in order. */
async function entryOf(skill: string): Promise<Entry> {
  const { result } = await chain.second.peer.call('skills/get', { uri: fileUri(skill, 'SKILL.md') })
  return { ...result.skill, resources: inOrder(result.skill.resources, fileKey) }
}

function expected(skill: string): Entry {
  const resources = [...chain.fixture.filesOf(skill)].map(([path, bytes]) => {
    return { uri: fileUri(skill, path), digest: digestOf(bytes), size: bytes.length }
  })
  const frontmatter = chain.fixture.frontmatter.get(skill)
  return { uri: fileUri(skill, 'SKILL.md'), frontmatter, resources: inOrder(resources, fileKey), ...metaOf(skill) }
}

function withoutMeta({ uri, frontmatter, resources }: Entry): Entry {
  return { uri, frontmatter, resources }
}

function fileKey({ uri }: { readonly uri: string }): string {
  return uri
}

function fileUri(skill: string, path: string): string {
  return `skill://b/fx/${encoded(skill)}/${encoded(path)}`
}

/** An entry of the first daemon as the second has it. */
function mirrored({ uri, frontmatter, resources, ...rest }: Entry): Entry {
  const at = (theirs: string): string => theirs.replace('skill://fx/', 'skill://b/fx/')
  return { ...rest, uri: at(uri), frontmatter, resources: resources.map((file) => ({ ...file, uri: at(file.uri) })) }
}

function filesIn({ uri, resources }: Entry): readonly object[] {
  const root = uri.slice(0, -'SKILL.md'.length)
  return resources.map((file) => {
    return { path: decodeURIComponent(file.uri.slice(root.length)), size: file.size, hash: file.digest }
  })
}
