import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  KINDS,
  contentOf,
  digestOf,
  expectInvalidParams,
  expectNotFound,
  itemsOf,
  openPeer,
  openScene,
  resultOf,
  walkPages,
} from './peers.ts'
import type { Scene } from './peers.ts'
import { INDEX, openSmall, readJson, readText, skillOf } from './small.ts'
import type { Small } from './small.ts'

const READ = 'resources/read'

describe('skill://index.json of FX', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await openScene()
  })

  afterAll(() => scene[Symbol.asyncDispose]())

  test.each(KINDS)('it is one text of JSON that holds an array of skills (%s)', async (kind) => {
    const { item } = contentOf(await scene.of(kind).call(READ, { uri: INDEX }))

    const document = JSON.parse(item.text)
    expect(item).toMatchObject({ uri: INDEX, mimeType: 'application/json' })
    expect(document.skills).toHaveLength(scene.fixture.listed.length)
  })

  test.each(KINDS)('an entry has the fields of every revision, and each of them is true (%s)', async (kind) => {
    const { skills } = await readJson(scene.of(kind), INDEX)

    for (const skill of scene.fixture.listed) {
      const { uri, frontmatter, resources } = scene.entry(skill)
      const name = skill.slice(skill.lastIndexOf('/') + 1)
      expect(skills.find((entry: { uri: string }) => entry.uri === uri)).toEqual({
        type: 'skill-md',
        name,
        description: Reflect.get(Object(frontmatter), 'description'),
        url: uri,
        uri,
        digest: expect.any(String),
        frontmatter: { ...Object(frontmatter), name },
        resources,
      })
    }
  })

  test.each(KINDS)('the digest is that of SKILL.md, the resources are those of skills/list (%s)', async (kind) => {
    const peer = scene.of(kind)

    const { skills } = await readJson(peer, INDEX)

    const listed = new Map(itemsOf(await walkPages(peer, 'skills/list')).map((entry) => [entry.uri, entry]))
    for (const skill of scene.fixture.listed) {
      const entry = skills.find((candidate: { uri: string }) => candidate.uri === scene.uri(skill))
      expect(entry.digest).toBe(digestOf(scene.fixture.filesOf(skill).get('SKILL.md')!))
      expect(entry.resources).toEqual(listed.get(entry.uri).resources)
    }
  })

  test.each(KINDS)('it says that it is of the discovery schema 0.2.0 (%s)', async (kind) => {
    const document = await readJson(scene.of(kind), INDEX)

    expect(document.$schema).toBe('https://schemas.agentskills.io/discovery/0.2.0/schema.json')
  })

  test.each(KINDS)('it holds the skills of skills/list and no others (%s)', async (kind) => {
    const { skills } = await readJson(scene.of(kind), INDEX)

    const uris = itemsOf(await walkPages(scene.of(kind), 'skills/list')).map((entry): string => entry.uri)
    expect(skills.map((entry: { uri: string }) => entry.uri)).toEqual(uris)
    expect(uris.toSorted()).toEqual(scene.fixture.listed.map((skill) => scene.uri(skill)).toSorted())
  })

  test.each(KINDS)('it holds neither a template nor an archive as an entry (%s)', async (kind) => {
    const { skills } = await readJson(scene.of(kind), INDEX)

    const types = skills.map((entry: { type: string }) => entry.type)
    expect(new Set(types)).toEqual(new Set(['skill-md']))
    expect(skills.every((entry: object) => 'frontmatter' in entry)).toBe(true)
  })

  test.each(KINDS)(
    'it is no skill, no folder, and has no other spelling than one of the same URI (%s)',
    async (kind) => {
      const peer = scene.of(kind)

      expectInvalidParams(await peer.call('skills/get', { uri: INDEX }))
      expectInvalidParams(await peer.call('resources/directory/read', { uri: INDEX }))
      for (const uri of [`${INDEX}/`, 'skill://INDEX.json', 'skill://index.json/SKILL.md', `${INDEX}?`]) {
        expectNotFound(peer, await peer.call(READ, { uri }), uri)
      }
      expect(await readText(peer, 'skill://index%2ejson')).toBe(await readText(peer, INDEX))
    },
  )

  test.each(KINDS)('resources/list holds every SKILL.md, and nothing that is made by us (%s)', async (kind) => {
    const resources = itemsOf(await walkPages(scene.of(kind), 'resources/list'))

    expect(resources.map(({ uri }): string => uri).toSorted()).toEqual(
      scene.fixture.listed.map((skill) => scene.uri(skill)).toSorted(),
    )
  })
})

describe('skill://index.json while skills change', () => {
  let small: Small

  beforeAll(async () => {
    small = await openSmall(
      {
        'alpha/SKILL.md': skillOf('alpha'),
        'alpha/ref.md': 'one\n',
        'alpha/run.sh': '#!/bin/sh\n',
        'hidden/SKILL.md': skillOf('hidden'),
        'hidden/marker.md': 'marker\n',
      },
      { source: ['unlisted: [hidden]'] },
    )
  })

  afterAll(() => small[Symbol.asyncDispose]())

  test('a subscriber of each kind hears when a supporting file changed', async () => {
    const heard = await listenTo(small)

    await small.commit({ 'alpha/ref.md': unlikeAnyOther() })

    expect(await heard()).toEqual(KINDS.map(() => [INDEX]))
  })

  test('each kind of client is told that it changed exactly when its bytes did', async () => {
    const steps = [
      { 'alpha/ref.md': unlikeAnyOther() },
      { 'alpha/SKILL.md': skillOf('alpha', unlikeAnyOther().trim()) },
      { 'alpha/run.sh': { executable: '#!/bin/sh\n' }, 'outside.md': unlikeAnyOther() },
      { 'hidden/SKILL.md': skillOf('hidden', unlikeAnyOther().trim()) },
      { 'beta/SKILL.md': skillOf('beta') },
      // The version before stays.
      { 'beta/SKILL.md': '# No frontmatter\n' },
      { 'beta/SKILL.md': null },
    ]

    const told: boolean[][] = []
    const changed: boolean[][] = []
    const heard = await listenTo(small)
    for (const files of steps) {
      const before = await Promise.all(small.all.map((peer) => readText(peer, INDEX)))
      await small.commit(files)
      told.push((await heard()).map((uris) => uris.includes(INDEX)))
      const after = await Promise.all(small.all.map((peer) => readText(peer, INDEX)))
      changed.push(after.map((text, index) => text !== before[index]))
    }

    expect(told).toEqual(changed)
    expect(changed.map(([first]) => first)).toEqual([true, true, false, false, true, false, true])
  })
})

test('of a hub without a skill the index is there, is empty, and is told of when the first one comes', async () => {
  await using small = await openSmall({ 'README.md': 'Nothing yet\n' })
  const listeners = await Promise.all(small.all.map((peer) => peer.subscribe([INDEX])))
  const before = await Promise.all(small.all.map((peer) => readJson(peer, INDEX)))

  await small.commit({ 'first/SKILL.md': skillOf('first') })
  await Promise.all(listeners.map((heard) => heard.next(isUpdateOf(INDEX))))

  expect(before.map(({ skills }) => skills)).toEqual([[], [], [], []])
  for (const peer of small.all) expect((await readJson(peer, INDEX)).skills).toHaveLength(1)
})

test('index and skills/list are the same bytes from whoever pulled a skill and from whoever reads it off the disk', async () => {
  const text = '---\nname: one\nzone: z\ndescription: One\nmetadata: { b: x, a: y }\n---\n'
  await using small = await openSmall({ 'one/SKILL.md': text })

  const indexes = await Promise.all(small.all.map((peer) => readText(peer, INDEX)))
  const lists = await Promise.all(small.all.map((peer) => peer.call('skills/list')))

  expect(new Set(indexes).size).toBe(1)
  expect(new Set(lists.map((reply) => JSON.stringify(resultOf(reply).skills))).size).toBe(1)
})

test('with the index off it is not found, and skills/list is as ever', async () => {
  const config = ['serve: { forms: [default, -index] }']
  await using small = await openSmall({ 'one/SKILL.md': skillOf('one') }, { config })

  for (const peer of small.all) {
    expectNotFound(peer, await peer.call(READ, { uri: INDEX }), INDEX)
    expect(resultOf(await peer.call('skills/list')).skills).toHaveLength(1)
    if (peer.era === 'legacy') expectNotFound(peer, await peer.call('resources/subscribe', { uri: INDEX }), INDEX)
  }
})

test('templates stand in the index where the operator wants them, as registered', async () => {
  const uri = 'skill://fx/{product}/SKILL.md'
  const config = ['serve:', `  templates: ['${uri}']`, '  forms: [default, index-templates]']
  await using small = await openSmall({ 'one/SKILL.md': skillOf('one') }, { config })

  for (const peer of small.all) {
    const { skills } = await readJson(peer, INDEX)
    const { resourceTemplates } = resultOf(await peer.call('resources/templates/list'))

    const template = skills.find(({ type }: { type: string }) => type === 'mcp-resource-template')
    expect(template).toEqual({ type: 'mcp-resource-template', description: expect.any(String), url: uri })
    expect(resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)).toContain(template.url)
    expect(skills).toHaveLength(2)
  }
})

test('resources/list holds every file, and what is made of the skills, where the operator wants it', async () => {
  const source = ['unlisted: [hidden]']
  const config = ['serve: { forms: [default, archives, files, synthetic] }', 'limits: { listing: { entries: 3 } }']
  const files = {
    'outer/SKILL.md': skillOf('outer'),
    'outer/inner/SKILL.md': skillOf('inner'),
    'outer/inner/data.md': 'data\n',
    'hidden/SKILL.md': skillOf('hidden'),
  }
  await using small = await openSmall(files, { source, config })
  const listeners = await Promise.all(small.all.map((peer) => peer.subscribe([INDEX], { list: true })))

  for (const peer of small.all) {
    const resources = itemsOf(await walkPages(peer, 'resources/list'))

    expect(resources.map(({ uri, mimeType }) => `${uri} ${mimeType}`).toSorted()).toEqual([
      'skill://fx/outer.tar.gz application/gzip',
      'skill://fx/outer.zip application/zip',
      'skill://fx/outer/SKILL.md text/markdown',
      'skill://fx/outer/_manifest application/json',
      'skill://fx/outer/inner.tar.gz application/gzip',
      'skill://fx/outer/inner.zip application/zip',
      'skill://fx/outer/inner/SKILL.md text/markdown',
      'skill://fx/outer/inner/_manifest application/json',
      'skill://fx/outer/inner/data.md text/markdown',
      'skill://index.json application/json',
    ])
    for (const { uri } of resources) contentOf(await peer.call(READ, { uri }))
  }
  await small.commit({ 'outer/inner/more.md': 'more\n' })
  for (const heard of listeners) await heard.next(isListChange)
})

/**
 * A listener of each kind for the index, and for a file that no list holds. What is returned changes that file, and answers
 * with what each of them was told up to there.
 */
async function listenTo(small: Small): Promise<() => Promise<string[][]>> {
  const marker = 'skill://fx/hidden/marker.md'
  const peers = await Promise.all(KINDS.map((kind) => openPeer(kind, small.served)))
  onTestFinished(async () => {
    for (const peer of peers) await peer[Symbol.asyncDispose]()
  })
  const listeners = await Promise.all(peers.map((peer) => peer.subscribe([INDEX, marker])))
  const known = listeners.map(({ messages }) => messages.length)
  return async () => {
    await small.commit({ 'hidden/marker.md': unlikeAnyOther() })
    return Promise.all(
      listeners.map(async (heard, index) => {
        const { messages } = heard
        const from = known[index]!
        const last = await heard.next((message) => isUpdateOf(marker)(message) && messages.indexOf(message) >= from)
        known[index] = messages.indexOf(last) + 1
        return messages
          .slice(from, messages.indexOf(last))
          .filter(isUpdate)
          .map(({ params }) => params.uri)
      }),
    )
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- what is on the wire has no type
type Message = any

function isUpdate({ method }: Message): boolean {
  return method === 'notifications/resources/updated'
}

function isUpdateOf(uri: string): (message: Message) => boolean {
  return (message) => isUpdate(message) && message.params.uri === uri
}

function isListChange({ method }: Message): boolean {
  return method === 'notifications/resources/list_changed'
}

let written = 0

function unlikeAnyOther(): string {
  written += 1
  return `content ${written}\n`
}
