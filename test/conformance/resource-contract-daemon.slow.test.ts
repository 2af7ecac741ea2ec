import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../src/daemon/config/config.ts'
import {
  CONTRACT_SOURCE,
  buildContractFixture,
  contractFrontmatter,
  documentOf,
} from '../support/content/contract-fixture.ts'
import type { ContractFixture } from '../support/content/contract-fixture.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { KINDS, contentOf, everyPeer, expectInvalidParams, expectNotFound, itemsOf, walkPages } from './peers.ts'
import type { Peers } from './peers.ts'
import { openSmall, readBytes, readJson, readText } from './small.ts'

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

test.each(KINDS)('the skills of a repository are at resource:// by their ids (%s)', async (kind) => {
  const peer = peers.of(kind)

  const index = await readJson(peer, 'resource://catalog/skills_index')

  expect(index.map(({ id }: { id: string }) => id)).toEqual(fixture.ids)
  for (const id of fixture.ids) {
    expect(await readBytes(peer, `resource://skills/${id}/document`)).toEqual(fixture.filesOf(id).get('SKILL.md'))
  }
})

test.each(KINDS)('a reference has the type that is declared, or that of Markdown (%s)', async (kind) => {
  const read = async (ref: string) =>
    contentOf(await peers.of(kind).call(READ, { uri: `resource://skills/code-review/references/${ref}` }))

  const [checklist, deep] = [await read('checklist'), await read('deep-dive')]

  expect([checklist, deep].map(({ item }) => item.mimeType)).toEqual(['text/plain', 'text/markdown'])
  expect(deep.bytes).toEqual(fixture.filesOf('code-review').get('references/nested/DEEP.MD'))
})

test.each(KINDS)('of the docs folder Markdown is served, and nothing from outside of it (%s)', async (kind) => {
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

test('what is not served of a skill is no document either, and is told as it goes', async () => {
  const [off, quiet] = ['resource://docs/skills/off/SKILL.md', 'resource://docs/skills/quiet/SKILL.md']
  const document = (id: string, block?: object): string => documentOf(contractFrontmatter(id, block))
  await using small = await openSmall(
    {
      'docs/usage.md': 'usage',
      'docs/alias.md': { link: 'skills/off/SKILL.md' },
      'docs/skills/off/SKILL.md': document('off'),
      'docs/skills/off/references/r.md': 'r',
      'docs/skills/broken/SKILL.md': document('broken', { version: 1 }),
      'docs/skills/drafts/SKILL.md': document('drafts'),
      'docs/skills/quiet/SKILL.md': document('quiet'),
    },
    {
      kinds: ['LH'],
      source: [...CONTRACT_SOURCE, 'exclude: [drafts]', 'unlisted: [quiet]'],
      config: ['serve: { forms: [default, files] }'],
    },
  )
  const peer = small.of('LH')
  const listed = async (): Promise<string[]> =>
    itemsOf(await walkPages(peer, 'resources/list'))
      .map(({ uri }) => uri)
      .filter((uri) => uri.startsWith('resource://docs/'))
  const usage = 'resource://docs/usage.md'
  expect(await listed()).toEqual(['alias', 'skills/off/SKILL', 'skills/off/references/r', 'usage'].map(docOf))
  expect(await readText(peer, quiet)).toBe(document('quiet'))
  for (const id of ['broken', 'drafts']) {
    expectNotFound(peer, await peer.call(READ, { uri: docOf(`skills/${id}/SKILL`) }))
  }
  const heard = await peer.subscribe([off, quiet], { list: true })

  const [{ source }] = small.served.config.sources as [Config['sources'][number]]
  await small.served.daemon.parts.decisions.disable(source.id, 'off', true)
  await heard.next(({ params }) => params?.uri === off)

  expect(await listed()).toEqual([usage])
  for (const uri of [off, docOf('alias'), docOf('skills/off/references/r')]) {
    expectNotFound(peer, await peer.call(READ, { uri }), uri)
  }
  expect(heard.messages.some(({ params }) => params?.uri === quiet)).toBe(false)
})

test.each([
  ['no skill has a valid block', { id: 'b' }, {}],
  ['the source has contract: false', {}, { source: ['contract: false'] }],
])('where %s there is no such family', async (_, block, options) => {
  await using small = await openSmall({ 'a/SKILL.md': documentOf(contractFrontmatter('a', block)) }, options)

  for (const peer of small.all) {
    for (const path of ['catalog/skills_index', 'catalog/skills/Bad_Id', 'skills/a/document', 'docs/../x.md']) {
      expectNotFound(peer, await peer.call(READ, { uri: `resource://${path}` }), `resource://${path}`)
    }
    expect(JSON.stringify(await walkPages(peer, 'resources/list'))).not.toContain('resource://')
  }
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

function docOf(path: string): string {
  return `resource://docs/${path}.md`
}
