import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Peer } from '../support/clients/peer.ts'
import { untar } from '../support/http/unpack.ts'
import {
  EXACT,
  KINDS,
  contentOf,
  digestOf,
  expectInvalidParams,
  expectNotFound,
  itemsOf,
  openScene,
  walkPages,
} from './peers.ts'
import type { Scene } from './peers.ts'
import { INDEX, openSmall, readBytes, readJson, readText, skillOf } from './small.ts'

let scene: Scene

beforeAll(async () => {
  scene = await openScene({
    source: [...EXACT, 'exclude: [edge-size, over-*]'],
    config: ['serve: { forms: [default, archives] }'],
  })
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(KINDS)('the manifest of a skill names each of its files by its raw path (%s)', async (kind) => {
  const peer = scene.of(kind)

  for (const skill of skillsOfScene()) {
    const uri = scene.uri(skill, '_manifest')
    const { item } = contentOf(await peer.call('resources/read', { uri }))

    const { skill: named, files } = JSON.parse(item.text)
    const expected = [...scene.fixture.filesOf(skill)].map(([path, bytes]) => ({
      path,
      size: bytes.length,
      hash: digestOf(bytes),
    }))
    expect(item).toMatchObject({ uri, mimeType: 'application/json' })
    expect(named).toBe(scene.root(skill).slice('skill://'.length))
    expect(files.toSorted(byPath)).toEqual(expected.toSorted(byPath))
  }
})

// Of a name with %, ? or #, what that client asks for is no URI of the file: it encodes nothing.
test.each(KINDS)('what FastMCP downloads is the folder, byte for byte (%s)', async (kind) => {
  const peer = scene.of(kind)

  const downloaded = await downloadAll(peer)

  const expected = skillsOfScene().map((skill) => [
    scene.root(skill).slice('skill://'.length),
    new Map([...scene.fixture.filesOf(skill)].filter(([path]) => !/[%?#]/.test(path))),
  ])
  expect(downloaded).toEqual(new Map(Object.entries(Object.fromEntries(expected))))
})

test.each(KINDS)('no manifest is in an entry, a folder, a list, the index or an archive (%s)', async (kind) => {
  const peer = scene.of(kind)
  const answers = [
    await walkPages(peer, 'skills/list'),
    await walkPages(peer, 'resources/list'),
    itemsOf(await walkPages(peer, 'resources/directory/read', { uri: scene.root('outer') })),
    await readText(peer, INDEX),
    [...(await untar(await readBytes(peer, `${scene.root('outer')}.tar.gz`))).keys()],
  ]

  expect(JSON.stringify(answers)).not.toContain('_manifest')
  expectInvalidParams(await peer.call('skills/get', { uri: scene.uri('outer', '_manifest') }))
  expectInvalidParams(await peer.call('resources/directory/read', { uri: scene.uri('outer', '_manifest') }))
})

test('a manifest is there for an unlisted skill, and neither for a folder nor for a skill that is withheld', async () => {
  const files = {
    'hidden/SKILL.md': skillOf('hidden'),
    'shown/SKILL.md': skillOf('shown'),
    'shown/notes/a.md': 'a\n',
    'withheld/SKILL.md': '# No frontmatter\n',
  }
  await using small = await openSmall(files, { source: ['unlisted: [hidden]'] })

  for (const peer of small.all) {
    expect((await readJson(peer, 'skill://fx/hidden/_manifest')).skill).toBe('fx/hidden')
    expect((await readJson(peer, 'skill://fx/%73hown/_manifest')).skill).toBe('fx/%73hown')
    for (const path of [
      '_manifest',
      'shown/notes/_manifest',
      'withheld/_manifest',
      'shown/_manifest/',
      'none/_manifest',
    ]) {
      expectNotFound(peer, await peer.call('resources/read', { uri: `skill://fx/${path}` }))
    }
  }
})

test('a file of the repository that is called _manifest is served as it is', async () => {
  const files = { 'one/SKILL.md': skillOf('one'), 'one/_manifest': 'of the repository\n' }
  await using small = await openSmall(files, { config: ['serve: { forms: [default, synthetic] }'] })

  for (const peer of small.all) {
    expect(await readText(peer, 'skill://fx/one/_manifest')).toBe('of the repository\n')
    const resources = itemsOf(await walkPages(peer, 'resources/list'))
    expect(resources.map(({ uri }) => uri)).toEqual(['skill://fx/one/SKILL.md', INDEX])
  }
})

test('who subscribed to a manifest hears of it when a file changed, and when the skill is gone', async () => {
  const files = { 'one/SKILL.md': skillOf('one'), 'one/a.md': 'a\n', 'two/SKILL.md': skillOf('two') }
  await using small = await openSmall(files)
  const [one, two] = ['skill://fx/one/_manifest', 'skill://fx/two/_manifest']
  const listeners = await Promise.all(small.all.map((peer) => peer.subscribe([one, two])))

  await small.commit({ 'one/a.md': 'b\n' })
  for (const heard of listeners) await heard.next(({ params }) => params?.uri === one)
  await small.commit({ 'two/SKILL.md': null })

  for (const [index, heard] of listeners.entries()) {
    await heard.next(({ params }) => params?.uri === two)
    const updates = heard.messages.filter(({ method }) => method === 'notifications/resources/updated')
    expect(updates.map(({ params }) => params.uri)).toEqual([one, two])
    expectNotFound(small.all[index]!, await small.all[index]!.call('resources/read', { uri: two }), two)
  }
})

/** What FastMCP's client does: it looks for SKILL.md in the list, reads each manifest, and then each path as it stands there. */
async function downloadAll(peer: Peer): Promise<Map<string, Map<string, Buffer>>> {
  const listed = itemsOf(await walkPages(peer, 'resources/list')).map(({ uri }): string => uri)
  const skills = listed
    .filter((uri) => uri.startsWith('skill://') && uri.endsWith('/SKILL.md'))
    .map((uri) => uri.slice('skill://'.length, -'/SKILL.md'.length))
  const downloaded = new Map<string, Map<string, Buffer>>()
  for (const skill of skills) {
    const { files } = await readJson(peer, `skill://${skill}/_manifest`)
    const bytes = new Map<string, Buffer>()
    for (const { path } of files) {
      if (!/[%?#]/.test(path)) bytes.set(path, await readBytes(peer, `skill://${skill}/${path}`))
    }
    downloaded.set(skill, bytes)
  }
  return downloaded
}

function skillsOfScene(): string[] {
  return scene.fixture.listed.filter((skill) => skill !== 'edge-size')
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1
}
