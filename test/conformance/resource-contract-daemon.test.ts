import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONTRACT_SOURCE, buildContractFixture } from '../support/contract-fixture.ts'
import type { ContractFixture } from '../support/contract-fixture.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { KINDS, contentOf, everyPeer, expectInvalidParams, expectNotFound } from './peers.ts'
import type { Peers } from './peers.ts'
import { readBytes, readJson } from './small.ts'

const READ = 'resources/read'

let fixture: ContractFixture
let served: Served
let peers: Peers

beforeAll(async () => {
  fixture = await buildContractFixture()
  served = await serve(fixture.repository, { source: CONTRACT_SOURCE })
  peers = await everyPeer(served)
})

afterAll(async () => {
  await peers[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

test.each(KINDS)('C142, C144: the skills of a repository are at resource:// by their ids (%s)', async (kind) => {
  const peer = peers.of(kind)

  const index = await readJson(peer, 'resource://catalog/skills_index')

  expect(index.map(({ id }: { id: string }) => id)).toEqual(fixture.ids)
  for (const id of fixture.ids) {
    expect(await readBytes(peer, `resource://skills/${id}/document`)).toEqual(fixture.filesOf(id).get('SKILL.md'))
  }
})

test.each(KINDS)('C145: a reference has the type that is declared, or that of Markdown (%s)', async (kind) => {
  const read = async (ref: string) =>
    contentOf(await peers.of(kind).call(READ, { uri: `resource://skills/code-review/references/${ref}` }))

  const [checklist, deep] = [await read('checklist'), await read('deep-dive')]

  expect([checklist, deep].map(({ item }) => item.mimeType)).toEqual(['text/plain', 'text/markdown'])
  expect(deep.bytes).toEqual(fixture.filesOf('code-review').get('references/nested/DEEP.MD'))
})

test.each(KINDS)('C148: of the docs folder Markdown is served, and nothing from outside of it (%s)', async (kind) => {
  const peer = peers.of(kind)

  for (const path of ['usage.md', 'guide/setup.md', 'skills/git-basics/SKILL.md']) {
    expect(String(await readBytes(peer, `resource://docs/${path}`))).toBe(fixture.files.get(`docs/${path}`))
  }
  for (const path of ['note.txt', '../README.md', '%2e%2e/README.md', '/etc/x.md', 'guide']) {
    expectInvalidParams(await peer.call(READ, { uri: `resource://docs/${path}` }))
  }
  const escaped = await peer.call(READ, { uri: 'resource://docs/escape.md' })
  expectNotFound(peer, escaped)
  expect(JSON.stringify(escaped)).not.toContain(fixture.canary)
})

test('a commit that changes one document of the docs is told to each client that asked for it, and to no other', async () => {
  const [changed, other] = ['resource://docs/usage.md', 'resource://docs/guide/setup.md']
  const listeners = await Promise.all(peers.all.map((peer) => peer.subscribe([changed, other])))
  const isOf = (uri: string) => (message: any) => message.params?.uri === uri

  await fixture.repository.commit({ 'docs/usage.md': 'another\n' })
  await served.sync()
  await Promise.all(listeners.map((heard) => heard.next(isOf(changed))))
  await fixture.repository.commit({ 'docs/guide/setup.md': 'another\n' })
  await served.sync()
  await Promise.all(listeners.map((heard) => heard.next(isOf(other))))

  for (const { messages } of listeners) expect(messages.filter(isOf(changed))).toHaveLength(1)
})
