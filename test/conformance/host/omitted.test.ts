import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { ODD_FRONTMATTERS, oddDocument } from '../../support/content/odd-frontmatters.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Repository } from '../../support/git/repository.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { ReverseProxy } from '../../support/http/reverse-proxy.ts'
import { Mirror } from '../../support/mirror.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { problemsIn } from '../../support/verdicts.ts'
import { itemsOf, resultOf, walkPages } from '../peers.ts'
import type { Entry } from '../peers.ts'

const LIST = 'dev.skillsyncd/omitted/list'
const OMITTED = { 'dev.skillsyncd/omitted': {} }
const ERAS = ['modern', 'legacy'] as const
const ODD = 'skill://odd/SKILL.md'
const SERVED_ODD = 'skill://au/odd/SKILL.md'
const SERVED_SOUND = 'skill://au/sound/SKILL.md'

test.each(ERAS)(
  'a hub that follows a hub that follows a hub has every skill that the first leaves out of skills/list, in the era %s',
  async (era) => {
    const documents = Object.entries(ODD_FRONTMATTERS).map(([name, odd]) => [name, oddDocument(name, odd)] as const)
    // A frontmatter that is no YAML stays above: to a reader that compares, the file belies the entry.
    const below = documents.filter(([name]) => ODD_FRONTMATTERS[name]?.rule !== 'frontmatter-unquoted')
    await using repository = await Repository.create()
    await repository.commit(Object.fromEntries(documents.map(([name, text]) => [`${name}/SKILL.md`, text])))
    await using first = await serve(repository, { config: ['limits: { listing: { entries: 3 } }'] })
    await using peer = await modernHttp(first.url)
    await using way = await wayTo(first, era)

    await using second = await Mirror.start({ b: `mcp: "${way.origin}/mcp", approval: none` })
    await using third = await Mirror.start({ c: `mcp: "${second.url}", approval: none` })

    const omitted = (await entriesOf(peer, LIST)).map((entry) => at(entry, 'skill://c/b/'))
    expect(omitted.length).toBeGreaterThan(20)
    expect(await entriesOf(third.peer, LIST)).toEqual(omitted)
    expect(await third.urisListed()).toEqual((await entriesOf(peer)).map((entry) => at(entry, 'skill://c/b/').uri))
    expect((await idsOf(third)).toSorted()).toEqual(below.map(([name]) => name).toSorted())
    for (const { uri } of omitted) {
      const [name = ''] = uri.split('/').slice(-2)
      expect(String(await third.bytesOf(uri)), uri).toBe(oddDocument(name, ODD_FRONTMATTERS[name]!))
    }
    expect(second.source('b').problem).toBeUndefined()
  },
)

test.each(ERAS)(
  'a change of nothing but a file of such a skill is told to the hub that follows, in the era %s',
  async (era) => {
    await using repository = await Repository.create()
    await repository.commit({ 'odd/SKILL.md': odd(), 'odd/notes/a.md': 'first', 'sound/SKILL.md': skill('sound') })
    const asked: string[] = []
    await using first = await serve(repository, { audit: ({ of = '' }) => void asked.push(...of.split(' ')) })
    await using way = await wayTo(first, era)
    const source = { b: `mcp: "${way.origin}/mcp", approval: none, every: 1h` }
    const clock = new FakeClock()
    await using second = await Mirror.start(source, { clock, isPulled: false })
    second.daemon.poll()
    while (!asked.includes('skill://fx/odd')) await turn()

    await repository.commit({ 'odd/notes/a.md': 'second' })
    await first.sync()
    await second.logged('source-updated', 2)

    const changed = String(await second.bytesOf('skill://b/fx/odd/notes/a.md'))
    // A source that was told of something is looked at again no sooner than a second later, and long before its schedule.
    await clock.advance(60_000)
    await repository.commit({ 'other/SKILL.md': odd('other').replace('name: odd', 'name: other') })
    await first.sync()
    await second.logged('source-updated', 3)

    expect(changed).toBe('second')
    expect((await idsOf(second)).toSorted()).toEqual(['odd', 'other', 'sound'])
  },
)

test('a server that does not declare the extension is asked for nothing of it', async () => {
  await using au = await offering()
  au.capabilities = { extensions: { 'io.modelcontextprotocol/skills': {} } }

  await using mirror = await Mirror.start({ au: of(au) })

  expect(au.of(LIST)).toEqual([])
  expect(await mirror.urisListed()).toEqual([SERVED_SOUND])
  expect(await idsOf(mirror)).toEqual(['sound'])
})

test.each<[string, () => unknown, string]>([
  ['refused', () => new RpcFault(-32_601, 'Method not found'), '-32601'],
  ['never given', () => 'silence', 'no answer to "dev.skillsyncd/omitted/list" within 2000 ms'],
  ['out of order', () => new RpcFault(-32_603, 'Out of order'), 'Out of order'],
  ['no list', () => ({ skills: {} }), 'no list'],
  ['of a cursor that comes again', () => ({ skills: [], nextCursor: 'a' }), 'repeats a cursor'],
  ['over the budget of entries', () => ({ skills: Array.from({ length: 9 }, () => null) }), 'listing_entries'],
  ['over the budget of bytes', () => ({ skills: [{ x: 'x'.repeat(5_000) }] }), 'listing_bytes'],
  ['not made to be heard', () => ({ raw: '{"jsonrpc":"2.0","id":"","result":{}}' }), 'no answer'],
  ['no JSON', () => ({ raw: '{"skills": [' }), ''],
  ['a redirect to elsewhere', () => ({ raw: '', status: 302, headers: { location: 'http://127.0.0.1:1/' } }), ''],
])(
  'where the answer is %s, the list is taken, what was left out of it before stays, and a finding says why',
  async (_, answer, why) => {
    await using folder = await temporaryFolder()
    await using au = await offering()
    const options = { state: folder.path, config: ['limits: { fetch: { connect_timeout: 2s } }'] }
    const source = { au: `${of(au)}, budgets: { listing_entries: 8, listing_bytes: 4KiB }` }
    const first = await Mirror.start(source, options)
    const listed = await entriesOf(first.peer, LIST)

    au.on(LIST, answer as never)
    au.skills.set('skill://new/SKILL.md', { 'SKILL.md': skill('new') })
    await first.pull()
    const broken = await first.urisListed()
    const kept = await entriesOf(first.peer, LIST)
    await first[Symbol.asyncDispose]()
    await using second = await Mirror.start(source, options)
    au.skills.delete('skill://new/SKILL.md')
    await second.pull()

    expect(listed.map(({ uri }) => uri)).toEqual([SERVED_ODD])
    expect(broken).toEqual(['skill://au/new/SKILL.md', SERVED_SOUND])
    expect([kept, await entriesOf(second.peer, LIST)]).toEqual([listed, listed])
    expect(String(await second.bytesOf(SERVED_ODD))).toBe(odd())
    expect(second.source('au').problem).toBeUndefined()
    expect(problemsIn(second.source('au'))).toContainEqual(
      expect.objectContaining({ code: 'listing-incomplete', path: '', message: expect.stringContaining(why) }),
    )
  },
)

test('a skill that the list has by now is taken from there alone, where the other list cannot be had', async () => {
  await using au = await offering()
  await using mirror = await Mirror.start({ au: of(au) })

  au.on(LIST, () => new RpcFault(-32_603, 'Out of order'))
  au.skills.delete(ODD)
  au.skills.set(ODD, { 'SKILL.md': skill('odd') })
  await mirror.pull()

  expect(await mirror.urisListed()).toEqual([SERVED_ODD, SERVED_SOUND])
  expect(mirror.findings('au')).toEqual(['listing-incomplete'])
})

test('what the server lists there no more, or says for the first time, is taken at the next look', async () => {
  await using au = await offering()
  au.on(LIST, () => new RpcFault(-32_603, 'Out of order'))
  await using mirror = await Mirror.start({ au: of(au) })
  const [without, found] = [await idsOf(mirror), mirror.findings('au')]

  au.on(LIST, () => ({ skills: [au.skills.entryOf(ODD)] }))
  await mirror.pull()
  const withIt = await idsOf(mirror)
  au.on(LIST, () => ({ skills: [] }))
  await mirror.pull()

  expect([without, found]).toEqual([['sound'], ['listing-incomplete']])
  expect(withIt.toSorted()).toEqual(['odd', 'sound'])
  expect([await idsOf(mirror), mirror.findings('au')]).toEqual([['sound'], []])
})

test('an entry there is judged as one of skills/list: what is wrong with it is found, and its bytes are compared', async () => {
  await using au = await offering()
  const entry = au.skills.entryOf(ODD)
  au.on(LIST, () => ({
    skills: [
      'no entry',
      entry,
      au.skills.entryOf('skill://sound/SKILL.md'),
      { ...entry, uri: 'file:///etc/SKILL.md' },
      { ...entry, uri: 'skill://none/SKILL.md', frontmatter: { name: 'none', description: 'd', metadata: 7 } },
      {
        ...entry,
        uri: 'skill://moving/SKILL.md',
        frontmatter: { name: 'moving', description: 'd' },
        resources: 'dynamic',
      },
    ],
  }))
  await using mirror = await Mirror.start({ au: of(au) })

  au.skills.setResource(ODD, odd('other'))
  const read = await mirror.bytesOf(SERVED_ODD)

  expect(read).toBe(-32_603)
  expect(await mirror.urisListed()).toEqual([SERVED_SOUND])
  expect(await idsOf(mirror)).toEqual(['sound'])
  expect(mirror.findings('au').toSorted()).toEqual([
    'content-mismatch odd',
    'entry-refused',
    'entry-refused',
    'entry-refused none',
    'entry-refused sound',
    'metadata-not-text none',
    'metadata-not-text odd',
    'not-verifiable moving',
  ])
})

test('such a skill waits for approval like any other', async () => {
  await using au = await offering()
  await using mirror = await Mirror.start({ au: of(au, 'required') })
  const before = await idsOf(mirror)

  await mirror.approve('au', 'odd')

  expect([before, await idsOf(mirror)]).toEqual([[], ['odd']])
})

/** A server of our kind, with a skill that it leaves out of `skills/list` and one that it does not. */
async function offering(): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.capabilities = { ...au.capabilities, extensions: { 'io.modelcontextprotocol/skills': {}, ...OMITTED } }
  au.skills.set('skill://sound/SKILL.md', { 'SKILL.md': skill('sound') })
  au.skills.set(ODD, { 'SKILL.md': odd() })
  au.skills.unlist(ODD)
  au.on(LIST, () => ({ skills: [au.skills.entryOf(ODD)] }))
  return au
}

/** A way to a daemon that it serves in one era alone. */
async function wayTo({ http }: Served, era: (typeof ERAS)[number]): Promise<ReverseProxy> {
  const way = await ReverseProxy.before(http.url)
  if (era === 'legacy') way.habit = { kind: 'rewrites', from: '2026-07-28', to: '2025-11-25' }
  return way
}

async function entriesOf(peer: Peer, method = 'skills/list'): Promise<readonly Entry[]> {
  return itemsOf(await walkPages(peer, method))
}

async function idsOf({ peer }: Mirror): Promise<readonly string[]> {
  const { content } = resultOf(await peer.call('tools/call', { name: 'list_skills', arguments: {} }))
  return JSON.parse(content[0].text).map(({ id }: { readonly id: string }) => id)
}

/** An entry of the first hub as one further down has it. */
function at({ uri, resources, ...rest }: Entry, root: string): Entry {
  const moved = (theirs: string): string => theirs.replace('skill://', root)
  return { ...rest, uri: moved(uri), resources: resources.map((file) => ({ ...file, uri: moved(file.uri) })) }
}

function of(au: HostileServer, approval = 'none'): string {
  return `mcp: "${au.url}", approval: ${approval}`
}

function odd(body = 'body'): string {
  return `---\nname: odd\ndescription: d\nmetadata: 7\n---\n${body}\n`
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody\n`
}
