import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import type { Heard, Peer } from '../../support/clients/peer.ts'
import {
  KINDS,
  contentOf,
  expectInvalidParams,
  expectNotFound,
  itemsOf,
  openScene,
  resultOf,
  walkPages,
} from '../peers.ts'
import type { Entry, Scene } from '../peers.ts'

const READ = 'resources/read'
const LISTED = (message: any): boolean => message.method === 'notifications/resources/list_changed'

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(KINDS)(
  'a skill that is disabled is in no list and not found, at once and told, and after enable it is there again (%s)',
  async (kind) => {
    const peer = scene.of(kind)
    const skill = 'acme/billing/refunds'
    await isThere(peer, skill)
    const file = scene.uri(skill, 'examples/email.md')
    const heard = await peer.subscribe([scene.uri(skill), file], { list: true })
    const others = (await documents(peer)).filter((uri) => uri !== scene.uri(skill))

    await decided(heard, [scene.uri(skill), file], () => disable(skill, true))

    for (const uri of [scene.uri(skill), file]) expectNotFound(peer, await peer.call(READ, { uri }), uri)
    expectInvalidParams(await peer.call('skills/get', { uri: scene.uri(skill) }))
    expectInvalidParams(await peer.call('resources/directory/read', { uri: scene.root(skill) }))
    expect(await documents(peer)).toEqual(others)
    expect(itemsOf(await walkPages(peer, 'resources/list')).map(({ uri }) => uri)).toEqual(others)

    await decided(heard, [scene.uri(skill), file], () => disable(skill, false))

    for (const [path, bytes] of scene.fixture.filesOf(skill))
      expect(contentOf(await peer.call(READ, { uri: scene.uri(skill, path) })).bytes).toEqual(bytes)
    expect(await get(peer, skill)).toEqual(scene.entry(skill))
    expect(await documents(peer)).toContain(scene.uri(skill))
    await heard[Symbol.asyncDispose]()
  },
)

test.each(KINDS)(
  'a skill inside another one that is disabled is at no URI, and neither is the one that holds its files (%s)',
  async (kind) => {
    const peer = scene.of(kind)
    await isThere(peer, 'outer/inner')
    const heard = await peer.subscribe([], { list: true })

    await decided(heard, [], () => disable('outer/inner', true))

    for (const skill of ['outer', 'outer/inner']) {
      expectInvalidParams(await peer.call('skills/get', { uri: scene.uri(skill) }))
      expectInvalidParams(await peer.call('resources/directory/read', { uri: scene.root(skill) }))
      expect(await documents(peer)).not.toContain(scene.uri(skill))
      for (const [path] of scene.fixture.filesOf(skill)) {
        const uri = scene.uri(skill, path)
        expectNotFound(peer, await peer.call(READ, { uri }), uri)
      }
    }

    await decided(heard, [], () => disable('outer/inner', false))
    await isThere(peer, 'outer')
    expect(await get(peer, 'outer')).toEqual(scene.entry('outer'))
    for (const [path, bytes] of scene.fixture.filesOf('outer'))
      expect(contentOf(await peer.call(READ, { uri: scene.uri('outer', path) })).bytes).toEqual(bytes)
    await heard[Symbol.asyncDispose]()
  },
)

test.each(KINDS)('disabling an outer skill leaves the inner one, with its own files alone (%s)', async (kind) => {
  const peer = scene.of(kind)
  const own = scene.uri('outer', 'broken/SKILL.md')
  await isThere(peer, 'outer')
  const heard = await peer.subscribe([scene.uri('outer'), own], { list: true })

  await decided(heard, [scene.uri('outer'), own], () => disable('outer', true))

  expectInvalidParams(await peer.call('skills/get', { uri: scene.uri('outer') }))
  for (const uri of [scene.uri('outer'), own]) expectNotFound(peer, await peer.call(READ, { uri }), uri)
  expect(await get(peer, 'outer/inner')).toEqual(scene.entry('outer/inner'))
  for (const [path, bytes] of scene.fixture.filesOf('outer/inner'))
    expect(contentOf(await peer.call(READ, { uri: scene.uri('outer/inner', path) })).bytes).toEqual(bytes)
  const { resources } = resultOf(await peer.call('resources/directory/read', { uri: scene.root('outer') }))
  expect(resources.map(({ uri }: { uri: string }) => uri)).toEqual([scene.root('outer/inner')])

  await decided(heard, [scene.uri('outer'), own], () => disable('outer', false))
  await heard[Symbol.asyncDispose]()
})

async function disable(skill: string, disabled: boolean): Promise<void> {
  const [source] = scene.served.config.sources
  const id: SourceId = source!.source.id
  expect(await scene.served.daemon.parts.decisions.disable(id, skill, disabled)).toMatchObject({ isNew: true })
  expect(await scene.served.daemon.parts.decisions.disable(id, skill, disabled)).toMatchObject({ isNew: false })
}

/** What the client before this one had enabled again, a follower serves within its look. */
async function isThere(peer: Peer, skill: string): Promise<void> {
  for (;;) if ((await peer.call('skills/get', { uri: scene.uri(skill) })).error === undefined) return
}

/** Decides, and waits until the client was told of each of the URIs and of the list. */
async function decided(heard: Heard, uris: readonly string[], decide: () => Promise<void>): Promise<void> {
  const before = heard.messages.length
  const isNew = (message: any): boolean => heard.messages.indexOf(message) >= before
  const told = uris.map((uri) => heard.next((message) => isNew(message) && message.params?.uri === uri))
  const listed = heard.next((message) => isNew(message) && LISTED(message))
  await decide()
  await Promise.all([...told, listed])
}

async function documents(peer: Peer): Promise<string[]> {
  const entries: Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
  return entries.map(({ uri }) => uri)
}

async function get(peer: Peer, skill: string): Promise<unknown> {
  return resultOf(await peer.call('skills/get', { uri: scene.uri(skill) })).skill
}
