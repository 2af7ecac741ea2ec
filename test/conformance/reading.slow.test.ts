import { afterAll, beforeAll, expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import { KINDS, contentOf, everyPeer, openScene, resultOf } from './peers.ts'
import type { Scene } from './peers.ts'

const READ = 'resources/read'

/** `nf` of the cases. */
const NOT_FOUND = { modern: -32602, legacy: -32002 } as const

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(KINDS)('an unknown file of a known skill and a file of an unknown skill are not found (%s)', async (kind) => {
  const peer = scene.of(kind)
  const unknown = [scene.uri('pdf-processing', 'nowhere.md'), scene.uri('nowhere')]

  for (const uri of unknown) {
    const reply = await peer.call(READ, { uri })

    expect(reply.error).toMatchObject({ code: NOT_FOUND[peer.era], data: { uri } })
    expect(reply).not.toHaveProperty('result')
  }
})

test.each(KINDS)('the content of a file carries caching hints on the modern era alone (%s)', async (kind) => {
  const peer = scene.of(kind)

  const result = resultOf(await peer.call(READ, { uri: scene.uri('pdf-processing', 'crlf.md') }))

  const { ttlMs, cacheScope } = result
  const hints = { ttlMs: expect.any(Number), cacheScope: expect.stringMatching(/^(public|private)$/) }
  expect({ ttlMs, cacheScope }).toEqual(peer.era === 'modern' ? hints : {})
})

test('how long every answer may be kept is what serve.ttl says', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a/SKILL.md': '---\nname: a\ndescription: A\n---\n' })
  await using served = await serve(repository, { config: ['serve: { ttl: 5s }'] })
  await using peers = await everyPeer(served)
  const [root, uri] = ['skill://fx/a', 'skill://fx/a/SKILL.md']
  const asked = [
    ['skills/list', {}],
    ['skills/get', { uri }],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    [READ, { uri }],
    ['resources/directory/read', { uri: root }],
  ] as const

  for (const peer of peers.all) {
    const replies = await Promise.all(asked.map(([method, params]) => peer.call(method, params)))

    const kept = [peer.opening, ...replies].map((reply) => resultOf(reply).ttlMs)
    expect(kept).toEqual(kept.map(() => (peer.era === 'modern' ? 5_000 : undefined)))
  }
})

test.each(KINDS)('a directory cannot be read as a file (%s)', async (kind) => {
  const peer = scene.of(kind)
  const folders = [scene.root('pdf-processing'), scene.uri('pdf-processing', 'notes'), scene.root('acme')]

  for (const uri of folders) {
    const reply = await peer.call(READ, { uri })

    expect(reply.error).toMatchObject({ code: NOT_FOUND[peer.era], data: { uri } })
    expect(reply).not.toHaveProperty('result')
  }
})

test.each(KINDS)('the content names the URI that was asked for, and its media type (%s)', async (kind) => {
  const peer = scene.of(kind)
  const asked = [
    ...scene.entry('pdf-processing').resources.map(({ uri }) => uri),
    `${scene.root('pdf-processing')}/notes/setup guide.md`,
    `${scene.root('pdf-processing')}/notes/%c3%bcn%c3%af.md`,
  ]

  for (const uri of asked) {
    const { item } = contentOf(await peer.call(READ, { uri }))

    expect(item.uri).toBe(uri)
    expect(item.mimeType).toMatch(/^[a-z]+\/[\w.+-]+/)
  }
})
