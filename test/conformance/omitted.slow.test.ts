import { afterAll, beforeAll, expect, test } from 'vitest'
import { ODD_FRONTMATTERS, oddDocument } from '../support/content/odd-frontmatters.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { KINDS, digestOf, everyPeer, itemsOf, resultOf, walkPages } from './peers.ts'
import type { Peers } from './peers.ts'

const OMITTED = 'dev.skillsyncd/omitted'
const LIST = 'dev.skillsyncd/omitted/list'
const ODD = Object.entries(ODD_FRONTMATTERS).filter(([, { rule }]) => rule !== undefined)
const documentsOf = (odd: typeof ODD): Map<string, string> =>
  new Map(odd.map(([name, frontmatter]) => [name, oddDocument(name, frontmatter)] as const))
const DOCUMENTS = documentsOf(ODD.filter(([, { rule }]) => rule !== 'frontmatter-unquoted'))
// In neither listing: a follower that reads YAML cannot compare the file with an entry.
const UNQUOTED = documentsOf(ODD.filter(([, { rule }]) => rule === 'frontmatter-unquoted'))
const HIDDEN = 'hidden'

let repository: Repository
let served: Served
let peers: Peers
beforeAll(async () => {
  repository = await Repository.create()
  const files = [...DOCUMENTS, ...UNQUOTED].map(([name, text]) => [`${name}/SKILL.md`, text] as const)
  const sound = ['one', 'two', 'three'].map(
    (name) => [`${name}/SKILL.md`, `---\nname: ${name}\ndescription: d\n---\n`] as const,
  )
  const hidden = `---\nname: ${HIDDEN}\ndescription: d\nmetadata: 7\n---\n`
  await repository.commit(Object.fromEntries([...files, ...sound, [`${HIDDEN}/SKILL.md`, hidden]]))
  const config = ['limits: { listing: { entries: 2 } }']
  served = await serve(repository, { source: [`unlisted: [${HIDDEN}]`], config })
  peers = await everyPeer(served)
})
afterAll(async () => {
  await peers[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

test.each(KINDS)(
  'what skills/list leaves out, and nothing else, is listed by the method of its own (%s)',
  async (kind) => {
    const peer = peers.of(kind)

    const pages = await walkPages(peer, LIST)
    const entries = itemsOf(pages)
    const listed = itemsOf(await walkPages(peer, 'skills/list'))

    expect(pages.length).toBe(Math.ceil(DOCUMENTS.size / 2))
    expect(entries.map(({ uri }) => uri)).toEqual([...DOCUMENTS.keys()].map(uriOf).toSorted())
    expect(listed.map(({ uri }) => uri)).toEqual(['one', 'three', 'two'].map(uriOf))
  },
)

test.each(KINDS)('an entry of it is the one that skills/get gives, true of the file (%s)', async (kind) => {
  const peer = peers.of(kind)

  for (const entry of itemsOf(await walkPages(peer, LIST))) {
    const { skill } = resultOf(await peer.call('skills/get', { uri: entry.uri }))
    const bytes = Buffer.from(DOCUMENTS.get(entry.uri.split('/')[3]) ?? '')
    expect(JSON.stringify(entry)).toBe(JSON.stringify(skill))
    expect(entry.resources).toEqual([{ uri: entry.uri, digest: digestOf(bytes), size: bytes.length }])
  }
})

test.each(KINDS)('a cursor of another listing is refused (%s)', async (kind) => {
  const peer = peers.of(kind)
  const { nextCursor } = resultOf(await peer.call('skills/list'))

  for (const cursor of [nextCursor, 'x'])
    expect((await peer.call(LIST, { cursor })).error?.code, String(cursor)).toBe(-32_602)
})

test.each(KINDS)('the extension is declared, and has nothing to set (%s)', (kind) => {
  const { capabilities } = resultOf(peers.of(kind).opening)

  expect(capabilities.extensions[OMITTED]).toEqual({})
})

test.each([
  ['M', ['_meta', 'cacheScope', 'nextCursor', 'resultType', 'skills', 'ttlMs']],
  ['LH', ['nextCursor', 'skills']],
] as const)('a page has what the era of the client puts into one of skills/list (%s)', async (kind, keys) => {
  const page = resultOf(await peers.of(kind).call(LIST))
  const listed = resultOf(await peers.of(kind).call('skills/list'))

  expect(Object.keys(page).toSorted()).toEqual(keys)
  expect(Object.keys(listed).toSorted()).toEqual(keys)
})

function uriOf(name: string): string {
  return `skill://fx/${name}/SKILL.md`
}
