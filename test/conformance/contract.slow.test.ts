import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import {
  CONTRACT_SOURCE,
  buildContractFixture,
  contractFrontmatter,
  documentOf,
} from '../support/content/contract-fixture.ts'
import { Repository, type Content } from '../support/git/repository.ts'
import { pullNow } from '../support/pull-now.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { problemsIn } from '../support/verdicts.ts'
import { KINDS, everyPeer, findingsAt, itemsOf, resultOf, walkPages } from './peers.ts'
import type { Entry, Peers } from './peers.ts'

/** One skill of a case: what it is called, what lies in its folder, and at which field it breaks the contract. */
interface Variant {
  readonly id: string
  readonly what: string
  readonly files: Readonly<Record<string, Content>>
  readonly field?: string
}

const BLOCK = 'x-personal-mcp'
const EXTRA = { 'x-later': { any: ['thing', 1, null] }, when_to_use: 'Before a merge' }
const NEIGHBOUR = { 'docs/skills/neighbour/SKILL.md': documentOf(contractFrontmatter('neighbour')) }

/** For their ids: no two have one. */
let variants = 0

const ACCEPTED: readonly Variant[] = [
  variant('canonical', 'the canonical skill, with fields that nobody knows', (id) =>
    contractFrontmatter(id, { owner: 'x' }, EXTRA),
  ),
  ...['1.0.0', '0.1.2', '1.0.0-rc.1', '1.0.0+b1'].map((version) =>
    variant('version', `version ${version}`, (id) => contractFrontmatter(id, { version })),
  ),
  ...['references/a.md', 'references/x/y.MD', './references/a.md'].map((path) =>
    variant('references', `reference ${path}`, withReference(path), {
      'references/a.md': 'a',
      'references/x/y.MD': 'y',
    }),
  ),
  variant('quoting', 'version "1.10.0", quoted', (id) => contractFrontmatter(id, { version: '1.10.0' })),
]

const REFUSED: readonly Variant[] = [
  variant('required fields', 'no block', (id) => ({ name: id, description: 'x' }), {}, BLOCK),
  variant('required fields', 'no id', (id) => withoutKey(id, 'id'), {}, `${BLOCK}.id`),
  variant(
    'required fields',
    'an id that is not the name',
    (id) => contractFrontmatter(id, { id: 'other' }),
    {},
    `${BLOCK}.id`,
  ),
  variant('required fields', 'a name that is not the folder', () => contractFrontmatter('other-name'), {}, 'name'),
  variant('required fields', 'no version', (id) => withoutKey(id, 'version'), {}, `${BLOCK}.version`),
  variant(
    'required fields',
    'empty capabilities',
    (id) => contractFrontmatter(id, { capabilities: [] }),
    {},
    `${BLOCK}.capabilities`,
  ),
  variant(
    'required fields',
    'capabilities without the document',
    (id) => contractFrontmatter(id, { capabilities: ['resource://catalog/skills_index'] }),
    {},
    `${BLOCK}.capabilities`,
  ),
  variant(
    'required fields',
    'a bad id in depends_on',
    (id) => contractFrontmatter(id, { depends_on: ['Bad_Id'] }),
    {},
    `${BLOCK}.depends_on[0]`,
  ),
  variant(
    'required fields',
    'a bad id of a reference',
    (id) => contractFrontmatter(id, { references: { Bad_Id: { path: 'references/a.md' } } }),
    { 'references/a.md': 'a' },
    `${BLOCK}.references.Bad_Id`,
  ),
  ...['1.0', '01.0.0', 'v1.0.0', '1.0.0-rc.1+b1'].map((version) =>
    variant('version', `version ${version}`, (id) => contractFrontmatter(id, { version }), {}, `${BLOCK}.version`),
  ),
  ...[
    '../a.md',
    'references/../a.md',
    '/references/a.md',
    'docs/a.md',
    'references/a.txt',
    'references\\a.md',
    'references/none.md',
  ].map((path) =>
    variant(
      'references',
      `reference ${path}`,
      withReference(path),
      { 'a.md': 'a', 'references/a.md': 'a', 'docs/a.md': 'a', 'references/a.txt': 'a' },
      `${BLOCK}.references.api.path`,
    ),
  ),
  variant(
    'references',
    'a reference that is a link out',
    withReference('references/out.md'),
    { 'references/out.md': { link: '../../../usage.md' } },
    `${BLOCK}.references.api.path`,
  ),
  ...['claude-helper', 'my-anthropic', '<b>', 'n'.repeat(65)].map((id) => ({
    id,
    what: `the name ${id.slice(0, 20)}`,
    files: { 'SKILL.md': documentOf(contractFrontmatter(id)) },
    field: 'name',
  })),
  ...['Make it <b>bold</b>', 'd'.repeat(1025)].map((description) =>
    variant(
      'description',
      `the description ${description.slice(0, 20)}`,
      (id) => contractFrontmatter(id, {}, { description }),
      {},
      'description',
    ),
  ),
  {
    id: 'unquoted',
    what: 'version 1.0, unquoted',
    files: { 'SKILL.md': documentOf(contractFrontmatter('unquoted')).replace('version: 1.0.0', 'version: 1.0') },
    field: `${BLOCK}.version`,
  },
]

test('every skill of CFX is served, and there is nothing to note but what its docs folder holds', async () => {
  await using fixture = await buildContractFixture()
  await using served = await serve(fixture.repository, { source: CONTRACT_SOURCE })
  await using peer = await modernHttp(served.url)

  expect(await namesSeenBy(peer)).toEqual(fixture.ids)
  const findings = served.daemon.parts.status.status().sources.flatMap((source) => problemsIn(source))
  expect(findings.map(({ code, path, state }) => [code, path, state])).toEqual([
    ['link-refused', 'docs/escape.md', undefined],
    ['file-name-case', 'docs/skills/code-review/references/nested/DEEP.MD', undefined],
  ])
})

describe('a lenient source', () => {
  const repositories: Repository[] = []
  let served: Served
  let peers: Peers

  beforeAll(async () => {
    const repository = await Repository.create()
    repositories.push(repository)
    await repository.commit({ ...NEIGHBOUR, ...filesOf([...ACCEPTED, ...REFUSED]), 'docs/usage.md': '# Usage' })
    served = await serve(repository, { source: CONTRACT_SOURCE })
    peers = await everyPeer(served)
  })

  afterAll(async () => {
    await peers[Symbol.asyncDispose]()
    await served[Symbol.asyncDispose]()
    for (const repository of repositories) await repository[Symbol.asyncDispose]()
  })

  test.each(ACCEPTED)('$what: is accepted', ({ id }) => {
    expect(findingsAt(served, id)).toEqual([])
  })

  test.each(REFUSED)('$what: is withheld, and the message has the skill and the field', ({ id, field }) => {
    const findings = findingsAt(served, id).filter(({ code }) => code === 'contract-violated')

    expect(findings.map(({ message }) => message.split(': ')[0])).toContain(field)
  })

  test.each(KINDS)('lists what is accepted, its neighbours, and nothing else (%s)', async (kind) => {
    const names = await namesSeenBy(peers.of(kind))

    expect(names).toEqual(['neighbour', ...ACCEPTED.map(({ id }) => id)].toSorted())
  })

  test.each(KINDS)('fields that nobody knows stay in the frontmatter (%s)', async (kind) => {
    const [{ id }] = ACCEPTED as [Variant]

    const { skill } = resultOf(await peers.of(kind).call('skills/get', { uri: `skill://fx/${id}/SKILL.md` }))

    expect(skill.frontmatter).toEqual(contractFrontmatter(id, { owner: 'x' }, EXTRA))
  })
})

describe('a source with `on_broken: refuse`', () => {
  let repository: Repository
  let served: Served
  let peer: Peer

  beforeAll(async () => {
    repository = await Repository.create()
    await repository.commit({ ...NEIGHBOUR, 'docs/usage.md': '# Usage' })
    served = await serve(repository, { source: [...CONTRACT_SOURCE, 'on_broken: refuse'] })
    peer = await modernHttp(served.url)
  })

  afterAll(async () => {
    await peer[Symbol.asyncDispose]()
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })

  test.each(REFUSED)(
    '$what: the commit is refused by skill and field, and the earlier one is served on',
    async (each) => {
      await repository.commit({
        ...filesOf([each]),
        'docs/skills/fresh/SKILL.md': documentOf(contractFrontmatter('fresh')),
      })

      const [outcome] = [...(await pullNow(served.daemon)).values()]

      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
      const { message } = (outcome as { error: Error }).error
      expect(message).toContain(`"${each.id}"`)
      expect(message).toContain(`${each.field}: `)
      expect(served.daemon.parts.status.status().sources[0]?.problem?.message).toBe(message)
      expect(await namesSeenBy(peer)).toEqual(['neighbour'])
      await repository.commit({ [`docs/skills/${each.id}`]: null, 'docs/skills/fresh': null })
    },
  )

  test('a commit of what is accepted alone is taken', async () => {
    await repository.commit(filesOf(ACCEPTED))

    await served.sync()

    expect(await namesSeenBy(peer)).toEqual(['neighbour', ...ACCEPTED.map(({ id }) => id)].toSorted())
  })
})

function variant(
  number: string,
  what: string,
  frontmatterOf: (id: string) => object,
  more: Readonly<Record<string, Content>> = {},
  field?: string,
): Variant {
  variants += 1
  const id = `${field === undefined ? 'good' : 'bad'}-${variants}`
  const files = { 'SKILL.md': documentOf(frontmatterOf(id)), ...more }
  return { id, what: `${number}: ${what}`, files, ...(field !== undefined && { field }) }
}

function withReference(path: string): (id: string) => object {
  return (id) => contractFrontmatter(id, { references: { api: { path } } })
}

function withoutKey(id: string, key: string): object {
  const frontmatter = contractFrontmatter(id)
  const block = Object.entries(frontmatter[BLOCK] as object).filter(([name]) => name !== key)
  return { ...frontmatter, [BLOCK]: Object.fromEntries(block) }
}

function filesOf(variants: readonly Variant[]): Record<string, Content> {
  return Object.fromEntries(
    variants.flatMap(({ id, files }) =>
      Object.entries(files).map(([path, content]) => [`docs/skills/${id}/${path}`, content] as const),
    ),
  )
}

async function namesSeenBy(peer: Peer): Promise<string[]> {
  const entries: Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
  return entries.map(({ uri }) => uri.split('/').at(-2) ?? '').toSorted()
}
