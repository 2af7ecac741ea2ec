import { access, chmod, constants, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import type { Scope } from '../../../src/serve/principal.ts'
import type { Peer, Reply } from '../../support/clients/peer.ts'
import { damageObject } from '../../support/damage.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import { INITIALIZE, exchange, legacy, modern } from '../exchange.ts'
import type { Answer } from '../exchange.ts'
import { KINDS, expectInvalidParams, itemsOf, openPeer, openScene, resultOf, walkPages } from '../peers.ts'
import type { Scene } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'
import { readByTool } from './file-by-tool.ts'

let fx: Scene
beforeAll(async () => {
  fx = await openScene()
})
afterAll(async () => {
  await fx[Symbol.asyncDispose]()
})

/** Those of FX that no URI can hold, and that tools offer all the same. */
const TOOLS_ONLY = [
  'Upper',
  '-lead',
  'trail-',
  'dou--ble',
  `${'n'.repeat(64)}n`,
  'padded',
  'description-too-long',
  'list-fm',
  'scalar-fm',
  'bad-yaml',
]

const TWINS: ReadonlySet<string> = new Set(['acme/billing/refunds', 'acme/support/refunds'])

interface Row {
  readonly id: string
  readonly name: string
  readonly source: string
  readonly description: string
}

/** Calls a tool that must answer, and parses the first text of its answer. */
async function call(peer: Peer, name: string, given?: object): Promise<{ readonly result: any; readonly json: any }> {
  const reply = await peer.call('tools/call', { name, ...(given !== undefined && { arguments: given }) })
  const result = resultOf(reply)
  expect(result.isError).toBeUndefined()
  return { result, json: JSON.parse(result.content[0].text) }
}

/** The text of an answer that says what went wrong. */
async function refusedBy(peer: Peer, id: string): Promise<string> {
  const result = resultOf(await peer.call('tools/call', { name: 'get_skill', arguments: { id } }))
  expect(result.isError).toBe(true)
  expect(result.content).toHaveLength(1)
  return result.content[0].text
}

async function rowsSeenBy(peer: Peer): Promise<readonly Row[]> {
  return (await call(peer, 'list_skills')).json
}

/** What follows the second line `---` of a SKILL.md, computed without our code. */
function bodyIn(document: Buffer): string {
  const text = document.toString('utf8')
  const end = /^\u{FEFF}?---\r?\n[^]*?\n---\r?(?:\n|$)/u.exec(text)
  return text.slice(end?.[0].length)
}

test.each(KINDS)('the tools need nothing, some words and an id (%s)', async (kind) => {
  const peer = fx.of(kind)

  const { tools } = resultOf(await peer.call('tools/list'))

  expect(peer.opening.result.capabilities.tools).toBeDefined()
  const readFile = {
    name: 'read_skill_file',
    inputSchema: { properties: { path: { type: 'string' } }, required: ['id', 'path'] },
  }
  expect(tools).toMatchObject([
    { name: 'list_skills', inputSchema: { type: 'object', required: [] } },
    { name: 'search_skills', inputSchema: { properties: { query: { type: 'string' } }, required: ['query'] } },
    { name: 'get_skill', inputSchema: { properties: { id: { type: 'string' } }, required: ['id'] } },
    // A caller that shares the disk has the path.
    ...(kind === 'M' || kind === 'LH' ? [readFile] : []),
  ])
  expect(Object.keys(tools[0].inputSchema.properties)).toEqual(['cursor', 'limit'])
  for (const { title, description, annotations } of tools) {
    expect([title, description]).toEqual([expect.stringMatching(/\w/), expect.stringMatching(/skill/)])
    expect(annotations).toEqual({ readOnlyHint: true, idempotentHint: true, openWorldHint: false })
  }
})

test.each(KINDS)('list_skills is a JSON array of id, name, source and description of all skills (%s)', async (kind) => {
  const { result, json } = await call(fx.of(kind), 'list_skills')

  expect(result.structuredContent).toBeUndefined()
  expect(result.content).toHaveLength(1)
  const served = fx.fixture.listed.map((path) => {
    const { name, description }: any = fx.fixture.frontmatter.get(path)
    return {
      id: TWINS.has(path) ? `fx/${path}` : path.slice(path.lastIndexOf('/') + 1),
      name,
      source: 'fx',
      description,
    }
  })
  const rows: readonly Row[] = json
  expect(rows.filter(({ id }) => !TOOLS_ONLY.includes(id)).toSorted(byId)).toEqual(served.toSorted(byId))
  expect(rows.filter(({ id }) => TOOLS_ONLY.includes(id)).map(({ id }) => id)).toEqual(TOOLS_ONLY.toSorted())
  for (const row of rows) expect(Object.keys(row)).toEqual(['id', 'name', 'source', 'description'])
})

test.each(KINDS)('get_skill gives name, description and exactly the bytes after the fence (%s)', async (kind) => {
  const peer = fx.of(kind)
  const rows = await rowsSeenBy(peer)

  for (const path of fx.fixture.listed) {
    const { name, description }: any = fx.fixture.frontmatter.get(path)
    const id = rows.find((row) => row.id === `fx/${path}` || row.id === path.split('/').at(-1))!.id
    const { result, json } = await call(peer, 'get_skill', { id })

    const content = bodyIn(fx.fixture.filesOf(path).get('SKILL.md')!)
    expect(json).toMatchObject({ source: 'fx', name, description, content })
    expect(result.structuredContent).toEqual(json)
  }
})

test.each(KINDS)('an unknown id is an error that a model can mend; no id is invalid (%s)', async (kind) => {
  const peer = fx.of(kind)

  const text = await refusedBy(peer, 'no-such-skill')

  expect(text).toContain('"no-such-skill"')
  expect(text).toContain('list_skills')
  const wrong = [{}, { id: 7 }, { id: null }, { id: ['refunds'] }]
  for (const given of wrong) {
    expectInvalidParams(await peer.call('tools/call', { name: 'get_skill', arguments: given }))
  }
  expectInvalidParams(await peer.call('tools/call', { name: 'get_skill' }))
  expectInvalidParams(await peer.call('tools/call', { name: 'get_skill', arguments: 'refunds' }))
  expectInvalidParams(await peer.call('tools/call', { name: 'read_skill', arguments: { id: 'refunds' } }))
  expectInvalidParams(await peer.call('tools/list', { cursor: 'nonsense' }))
})

test.each(KINDS)('an optional argument that is null is not given, and a required one is missing (%s)', async (kind) => {
  const peer = fx.of(kind)
  const ask = async (name: string, given: object): Promise<Reply> => peer.call('tools/call', { name, arguments: given })

  expect(resultOf(await ask('list_skills', { cursor: null, limit: null }))).toEqual(
    resultOf(await ask('list_skills', {})),
  )
  const query = { query: 'refunds' }
  expect(resultOf(await ask('search_skills', { ...query, limit: null, max_tokens: null }))).toEqual(
    resultOf(await ask('search_skills', query)),
  )
  expectInvalidParams(await ask('search_skills', { query: null }))
})

describe('where a skill lies', () => {
  const STDIO = ['LS', 'MS'] as const
  const HTTP = ['M', 'LH'] as const

  test.each(STDIO)('is told over stdio, and its other files are found from there (%s)', async (kind) => {
    const { json, result } = await call(fx.of(kind), 'get_skill', { id: 'pdf-processing' })

    expect(isAbsolute(json.path)).toBe(true)
    await access(json.path, constants.R_OK)
    for (const [path, bytes] of fx.fixture.filesOf('pdf-processing')) {
      expect(await readFile(join(dirname(json.path), path))).toEqual(bytes)
    }
    expect(json.uri).toBeUndefined()
    expect(result.content[1].text).toContain('"fx"')
  })

  test.each(STDIO)('is told of a skill that no URI can hold, too (%s)', async (kind) => {
    const { json } = await call(fx.of(kind), 'get_skill', { id: 'Upper' })

    expect(await readFile(json.path, 'utf8')).toBe(documentOf('Upper'))
  })

  test.each(HTTP)('is told nobody over HTTP, on loopback neither; a URI is (%s)', async (kind) => {
    const peer = fx.of(kind)
    const ids = (await rowsSeenBy(peer)).map(({ id }) => id)
    const replies = [await peer.call('tools/list'), await peer.call('tools/call', { name: 'list_skills' })]
    for (const id of [...ids, 'no-such-skill', 'refunds']) {
      replies.push(await peer.call('tools/call', { name: 'get_skill', arguments: { id } }))
    }

    for (const reply of replies) expectNoPath(reply)
    const { json, result } = await call(peer, 'get_skill', { id: 'pdf-processing' })
    expect(json.uri).toBe(fx.uri('pdf-processing'))
    expect(result.content[1].text).toContain('read_skill_file')
    const unheld = await call(peer, 'get_skill', { id: 'Upper' })
    expect(Object.keys(unheld.json)).toEqual(['source', 'name', 'description', 'content', 'files'])
  })

  test('is told nobody where the operator wants it so', async () => {
    await using small = await openSmall(
      { 'alpha/SKILL.md': skillOf('alpha') },
      { config: ['serve:', '  forms: [default, -paths]'] },
    )

    for (const peer of small.all) {
      const reply = await peer.call('tools/call', { name: 'get_skill', arguments: { id: 'alpha' } })

      expect(JSON.parse(resultOf(reply).content[0].text)).toMatchObject({ uri: 'skill://fx/alpha/SKILL.md' })
      expectNoPath(reply)
      expect(reply.result.structuredContent.path).toBeUndefined()
      const { tools } = resultOf(await peer.call('tools/list'))
      expect(tools.map(({ name }: { readonly name: string }) => name)).toContain('read_skill_file')
    }
  })
})

test('a push is seen by the first list_skills after the interval, and not looked for before', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skillOf('alpha') })
  const clock = new FakeClock()
  await using served = await serve(repository, { clock, source: ['every: 10m'] })
  for (const kind of ['M', 'LH'] as const) {
    await using peer = await openPeer(kind, served)
    const before = await rowsSeenBy(peer)
    await repository.commit({ [`${kind}/SKILL.md`]: skillOf(kind.toLowerCase()) })
    const asked = served.git.requests.length

    await clock.advance(10 * 60_000 - 1)
    const early = await rowsSeenBy(peer)
    const askedEarly = served.git.requests.length
    await clock.advance(1)
    const late = await rowsSeenBy(peer)

    expect(early).toEqual(before)
    expect(askedEarly).toBe(asked)
    expect(late.map(({ name }) => name)).toContain(kind.toLowerCase())
  }
})

test('a folder name that two sources have gives an id to each, and each leads to its own content', async () => {
  await using other = await Repository.create()
  await other.commit({ 'refunds/SKILL.md': skillOf('refunds', 'The other'), 'alone/SKILL.md': skillOf('alone') })
  await using small = await openSmall(
    { 'refunds/SKILL.md': skillOf('refunds', 'The first') },
    { more: { other }, id: 'house' },
  )

  for (const peer of small.all) {
    const rows = await rowsSeenBy(peer)
    const described = await Promise.all(rows.map(async ({ id }) => (await call(peer, 'get_skill', { id })).json))

    expect(rows.map(({ id }) => id)).toEqual(['alone', 'house/refunds', 'other/refunds'])
    expect(described.map(({ description }) => description)).toEqual(rows.map(({ description }) => description))
    expect(described.map(({ source }) => source)).toEqual(['other', 'house', 'other'])
    const text = await refusedBy(peer, 'refunds')
    for (const part of ['"refunds"', '"house/refunds"', '"other/refunds"']) expect(text).toContain(part)
  }
})

test('a display name is offered by the tools, and is in no other list', async () => {
  const document = '---\nname: PDF Processing\ndescription: Fills forms\n---\n# Forms\n'
  await using small = await openSmall({ 'pdf-processing/SKILL.md': document, 'alpha/SKILL.md': skillOf('alpha') })

  for (const peer of small.all) {
    const rows = await rowsSeenBy(peer)
    const { json } = await call(peer, 'get_skill', { id: 'pdf-processing' })

    expect(rows).toContainEqual({
      id: 'pdf-processing',
      name: 'PDF Processing',
      source: 'fx',
      description: 'Fills forms',
    })
    expect(json).toMatchObject({ name: 'PDF Processing', description: 'Fills forms', content: '# Forms\n' })
    for (const method of ['skills/list', 'resources/list']) {
      const uris = itemsOf(await walkPages(peer, method)).map(({ uri }) => uri)
      expect(uris).toEqual(['skill://fx/alpha/SKILL.md'])
    }
  }
})

test.each(KINDS)('a frontmatter that cannot be read is told of, and the file given whole (%s)', async (kind) => {
  const peer = fx.of(kind)

  const rows = await rowsSeenBy(peer)
  const { json, result } = await call(peer, 'get_skill', { id: 'bad-yaml' })

  expect(rows.find(({ id }) => id === 'bad-yaml')).toMatchObject({
    name: 'bad-yaml',
    description: expect.stringContaining('not valid YAML'),
  })
  expect(json.content).toBe(documentOf('bad-yaml'))
  expect(result.content[1].text).toContain('whole SKILL.md')
})

test.each([
  ['not valid UTF-8', Buffer.from([0xe9, 0x0a])],
  ['1048576 at most', Buffer.alloc(2 ** 20, 1)],
])('what no text of an answer can hold (%s) is told with where it is', async (why, rest) => {
  const document = Buffer.concat([Buffer.from(skillOf('alpha')), rest])
  await using small = await openSmall({ 'alpha/SKILL.md': document })

  for (const peer of small.all) {
    const text = await refusedBy(peer, 'alpha')

    expect(text).toContain(why)
    const [, path, id] = PLACES.exec(text)!
    expect(path !== undefined).toBe(peer.kind === 'LS' || peer.kind === 'MS')
    const bytes = path === undefined ? readByTool(peer, String(id), 'SKILL.md') : readFile(path)
    expect(await bytes).toEqual(document)
  }
})

/** A path, or the id with which the tool for files is called. */
const PLACES = /its bytes are in (.+)$|read_skill_file with the id "(.+)" and the path "SKILL.md" gives its bytes$/

test('what is unlisted is got by who knows its id, and is in no list', async () => {
  const files = {
    'alpha/SKILL.md': skillOf('alpha'),
    'drafts/beta/SKILL.md': skillOf('beta', 'A draft'),
    'drafts/alpha/SKILL.md': skillOf('alpha', 'A draft'),
  }
  await using small = await openSmall(files, { source: ['unlisted: ["drafts/**"]'] })

  for (const peer of small.all) {
    expect((await rowsSeenBy(peer)).map(({ id }) => id)).toEqual(['alpha'])
    const of = async (id: string): Promise<string> => (await call(peer, 'get_skill', { id })).json.description
    expect(await of('alpha')).toBe('What alpha does')
    expect(await of('beta')).toBe('A draft')
    expect(await of('fx/drafts/alpha')).toBe('A draft')
  }
})

test('what is damaged on the disk is not given, and the answer says so', async () => {
  await using small = await openSmall({ 'alpha/SKILL.md': skillOf('alpha') })
  // Else it would be mended before the last one has asked.
  await rm(small.repository.folder, { recursive: true })
  const { daemon, config } = small.served
  const [document] = daemon.registry.catalog.skills.get('skill://fx/alpha/SKILL.md')!.skill.files
  damageObject(config.state, document!.sha256)

  for (const peer of small.all) expect(await refusedBy(peer, 'alpha')).toContain('damaged')
})

test('a folder that was edited is given as it was stored', async () => {
  await using small = await openSmall({ 'alpha/SKILL.md': skillOf('alpha') }, { kinds: ['LS'] })
  const { json } = await call(small.of('LS'), 'get_skill', { id: 'alpha' })
  await chmod(json.path, 0o600)
  await writeFile(json.path, skillOf('alpha').replace('What', 'Wham'))

  const again = await call(small.of('LS'), 'get_skill', { id: 'alpha' })

  expect(again.json.path).toBe(json.path)
  expect(await readFile(json.path, 'utf8')).toBe(skillOf('alpha'))
})

test('what is disabled is offered by no tool', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skillOf('alpha'), 'beta/SKILL.md': skillOf('beta') })
  await using served = await serve(repository)
  const [source] = served.config.sources
  await served.daemon.parts.decisions.disable(source!.source.id, 'alpha', true)
  await using peer = await openPeer('M', served)

  expect((await rowsSeenBy(peer)).map(({ id }) => id)).toEqual(['beta'])
  expect(await refusedBy(peer, 'alpha')).toContain('no skill')
})

test.each(['modern', 'legacy'] as const)(
  'a token without the scope tools sees no tools, of the %s era',
  async (era) => {
    await using repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skillOf('alpha') })
    await using served = await serve(repository)
    const named = async (scopes: readonly Scope[]): Promise<Seen> => {
      const { secret, sha256 } = newToken()
      const name = scopes.join('-')
      await served.daemon.parts.tokens.add({ name, sha256, scopes, created: new Date().toISOString() })
      return toolsSeen(served.url, era, { authorization: `Bearer ${secret}` })
    }

    expect(await named(['skills', 'tools'])).toEqual({
      isDeclared: true,
      listed: 4,
      text: expect.stringContaining('alpha'),
    })
    expect(await named(['skills', 'prompts'])).toEqual({ isDeclared: false, listed: -32601, text: -32601 })
  },
)

test('with -tools in serve.forms there are no tools, and nobody is told of any', async () => {
  const config = ['serve:', '  forms: [default, -tools]']
  await using small = await openSmall({ 'alpha/SKILL.md': skillOf('alpha') }, { config })

  for (const peer of small.all) {
    expect(peer.opening.result.capabilities.tools).toBeUndefined()
    for (const method of ['tools/list', 'tools/call']) {
      expect((await peer.call(method, { name: 'list_skills' })).error?.code).toBe(-32601)
    }
  }
})

interface Seen {
  readonly isDeclared: boolean
  /** How many, and what the first says, or the codes of refusals. */
  readonly listed: number
  readonly text: string | number
}

async function toolsSeen(url: string, era: 'modern' | 'legacy', headers: Record<string, string>): Promise<Seen> {
  const send = async (method: string, params: object, session?: string): Promise<Answer> => {
    const sent = era === 'modern' ? modern(method, params) : legacy(method, params, session)
    return exchange(url, { headers: { ...sent.headers, ...headers }, body: sent.body })
  }
  const opening = await (era === 'modern' ? send('server/discover', {}) : send('initialize', INITIALIZE))
  const session = opening.headers.get('mcp-session-id') ?? undefined
  const listed = await send('tools/list', {}, session)
  const called = await send('tools/call', { name: 'list_skills' }, session)
  return {
    isDeclared: 'tools' in opening.result.capabilities,
    listed: listed.error?.code ?? listed.result.tools.length,
    text: called.error?.code ?? called.result.content[0].text,
  }
}

function byId(one: Row, other: Row): number {
  return Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))
}

function documentOf(skill: string): string {
  const content = fx.fixture.files.get(`skills/${skill}/SKILL.md`)
  return typeof content === 'string' ? content : ''
}

/** Nothing of an answer may look like a place on our disk. */
function expectNoPath({ result, error }: Reply): void {
  const text = JSON.stringify({ result, error })
  expect(text).not.toContain(fx.served.config.state)
  expect(text.replaceAll(/skill:\/\/[^\s"\\]*/g, '')).not.toMatch(/\/[^\s"\\]*\/SKILL\.md/)
  // One below the folder of a skill is no place on the disk.
  expect(text).not.toMatch(/"path\\?":\s*\\?"\//)
}
