import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditEvent } from '../../src/serve/audit.ts'
import type { Authenticate, Scope } from '../../src/serve/principal.ts'
import { META, legacyHttp, modernHeaders, modernHttp, stdio } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { TEST_SURFACE } from '../support/clients/test-surface.ts'
import { Repository } from '../support/git/repository.ts'
import { skillText } from '../support/git/scripted-upstream.ts'
import { serve } from '../support/served.ts'
import type { ServedOptions } from '../support/served.ts'

const CONTENT = 'canary-of-the-content'
const TOKEN = 'canary-of-the-token'
const URI = 'skill://fx/pdf/SKILL.md'

/** What is asked, and what is to be remembered of it. */
const ASKED: readonly (readonly [string, object, Partial<AuditEvent>])[] = [
  ['skills/list', {}, { allowed: true }],
  ['dev.skillsyncd/omitted/list', {}, { allowed: true }],
  ['dev.skillsyncd/omitted/list', { cursor: 'x' }, { allowed: false, why: expect.stringContaining('cursor') }],
  ['skills/get', { uri: URI }, { of: URI, allowed: true }],
  ['skills/get', { uri: 'skill://fx/none/SKILL.md' }, { of: 'skill://fx/none/SKILL.md', allowed: false }],
  ['resources/list', {}, { allowed: true }],
  ['resources/templates/list', {}, { allowed: true }],
  ['resources/directory/read', { uri: 'skill://fx/pdf' }, { of: 'skill://fx/pdf', allowed: true }],
  ['resources/read', { uri: URI }, { of: URI, allowed: true }],
  ['resources/read', { uri: 'SKILL://fx/pdf' }, { of: 'SKILL://fx/pdf', allowed: false, why: expect.any(String) }],
  ['resources/read', { uri: `${URI}?token=${TOKEN}` }, { of: `${URI}?…`, allowed: false }],
  ['resources/read', {}, { allowed: false, why: expect.stringContaining('uri') }],
  ['skills/none', {}, { allowed: false, why: 'Method not found' }],
  ['tools/list', {}, { allowed: true }],
  ['tools/call', { name: 'test_simple_text', arguments: { id: 'pdf', secret: TOKEN } }, { of: 'test_simple_text pdf' }],
  ['tools/call', { name: 'test_error_handling' }, { of: 'test_error_handling', allowed: false }],
  ['tools/call', { name: 'none' }, { of: 'none', allowed: false, why: expect.stringContaining('none') }],
  ['prompts/list', {}, { allowed: true }],
  ['prompts/get', { name: 'test_simple_prompt' }, { of: 'test_simple_prompt', allowed: true }],
]

const EXPECTED = ASKED.map(([asked, , event]) => ({ asked, ...event }))

test.each(['M', 'LH'] as const)('each thing that is asked over HTTP (%s) is remembered exactly once', async (kind) => {
  await using hub = await open({ surfaces: [TEST_SURFACE] })
  const { generation } = hub.served.daemon.registry.catalog
  await using peer = kind === 'M' ? await modernHttp(hub.served.url) : await legacyHttp(hub.served.url)

  for (const [method, params] of ASKED) await ask(peer, hub.served.url, method, params)

  const events = hub.events.splice(0)
  expect(events).toMatchObject(EXPECTED)
  for (const event of events) {
    expect(event).toMatchObject({ generation, address: '127.0.0.1' })
    expect(event).not.toHaveProperty('principal')
  }
  expect(JSON.stringify(events)).not.toMatch(new RegExp(`${CONTENT}|${TOKEN}`))
  await using _heard = await peer.subscribe([URI])
  expect(hub.events).toMatchObject([
    { asked: kind === 'M' ? 'subscriptions/listen' : 'resources/subscribe', of: URI, allowed: true },
  ])
})

test('a batch is remembered message by message', async () => {
  await using hub = await open()
  await using peer = await legacyHttp(hub.served.url, '2025-03-26')
  const body = ['skills/list', 'ping', 'resources/list'].map((method, id) => ({ jsonrpc: '2.0', id, method }))

  await fetch(hub.served.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-session-id': peer.session },
    body: JSON.stringify(body),
  })

  expect(hub.events.map(({ asked }) => asked)).toEqual(['skills/list', 'resources/list'])
})

test('of a batch whose answer grows too large, what went out is remembered, and not what was made', async () => {
  await using hub = await open({}, true, { 'pdf/large.txt': 'x'.repeat(12 * 2 ** 20) })
  await using peer = await legacyHttp(hub.served.url, '2025-03-26')
  const params = { uri: 'skill://fx/pdf/large.txt' }
  const body = [1, 2, 3, 4, 5, 6, 7].map((id) => ({ jsonrpc: '2.0', id, method: 'resources/read', params }))

  const reply = await fetch(hub.served.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-session-id': peer.session },
    body: JSON.stringify(body),
  })

  const answers: { result?: object; error?: { message: string } }[] = JSON.parse(await reply.text())
  expect(answers.map(({ error }) => error === undefined)).toEqual([true, true, true, true, true, false, false])
  expect(hub.events.map(({ allowed, why }) => ({ allowed, why }))).toEqual(
    answers.map(({ error }) => ({ allowed: error === undefined, why: error?.message })),
  )
})

test('what is refused before it is served is remembered message by message', async () => {
  await using hub = await open()
  const post = async (body: object, headers = {}): Promise<number> =>
    (
      await fetch(hub.served.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    ).status
  const read = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: URI } }
  const list = { jsonrpc: '2.0', id: 2, method: 'skills/list' }

  const statuses = [
    await post(read, { 'mcp-session-id': 'none' }),
    await post([read, list]),
    await post(read, modernHeaders('resources/read', { uri: URI })),
    await post(Array.from({ length: 101 }, () => list)),
  ]

  expect(statuses).toEqual([404, 400, 400, 400])
  expect(hub.events).toMatchObject([
    { asked: 'resources/read', of: URI, allowed: false, why: 'Session not found' },
    { asked: 'resources/read', of: URI, allowed: false, why: expect.stringContaining('header is required') },
    { asked: 'skills/list', allowed: false, why: expect.stringContaining('header is required') },
    { asked: 'resources/read', of: URI, allowed: false, why: expect.stringContaining('2026-07-28') },
    { asked: 'POST /mcp', allowed: false },
  ])
})

test('the generation of an event is that which the answer is made from', async () => {
  await using hub = await open()
  await using peer = await modernHttp(hub.served.url)
  const read = async (): Promise<number | undefined> => {
    await peer.call('resources/read', { uri: URI })
    return hub.events.at(-1)?.generation
  }

  const before = await read()
  await hub.repository.commit({ 'pdf/SKILL.md': skillText('pdf', '', 'new') })
  await hub.served.sync()

  expect([before, await read()]).toEqual([1, 2])
})

test('who is not let in is remembered with address, reason and what was asked, and no token', async () => {
  const authenticate: Authenticate = async (token) =>
    token === TOKEN ? { id: 'ada', scopes: new Set<Scope>(['page']) } : undefined
  await using hub = await open({ access: { authenticate, isTokenRequired: true } })
  const { url } = hub.served
  const post = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' }))
      .status

  const statuses = [
    await post({}),
    await post({ authorization: `Bearer wrong-${TOKEN}` }),
    await post({ authorization: `Bearer ${TOKEN}` }),
    await post({ origin: 'https://evil.example' }),
    (await fetch(`${url}?access_token=${TOKEN}`)).status,
  ]

  expect(statuses).toEqual([401, 401, 403, 403, 400])
  const denied = { asked: 'POST /mcp', allowed: false, address: '127.0.0.1' }
  expect(hub.events).toEqual([
    { ...denied, generation: 1, why: 'A token is needed' },
    { ...denied, generation: 1, why: 'The token is not valid' },
    { ...denied, generation: 1, why: 'The token does not open "skills"', principal: 'ada' },
    { ...denied, generation: 1, why: 'The Origin header names another site' },
    { ...denied, asked: 'GET /mcp', generation: 1, why: expect.stringContaining('must not be in the address') },
  ])
  expect(JSON.stringify(hub.events)).not.toContain(TOKEN)
})

test('of the address of a request no secret is remembered', async () => {
  await using hub = await open()
  const { port } = new URL(hub.served.url)
  const request = httpRequest({
    port,
    path: `http://user:${TOKEN}/${TOKEN}@host/mcp?token=${TOKEN}`,
    headers: { origin: 'https://evil.example' },
  })
  const answered = once(request, 'response')
  request.end()
  const [response] = await answered
  response.resume()

  expect(hub.events).toMatchObject([{ asked: 'GET http://***@host/mcp', allowed: false }])
})

test('one request too many is remembered, with whose it was', async () => {
  const authenticate: Authenticate = async () => ({ id: 'ada', scopes: new Set<Scope>(['skills']) })
  const rate = { requests: 1, perMs: 3_600_000 }
  await using hub = await open({ access: { authenticate, isTokenRequired: true }, limits: { rate } })
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  for (let times = 0; times < 2; times += 1) await fetch(hub.served.url, { method: 'POST', headers, body: 'none' })

  expect(hub.events).toMatchObject([
    { asked: 'POST /mcp', allowed: false, why: 'Parse error: the body is not JSON', principal: 'ada' },
    { asked: 'POST /mcp', allowed: false, why: 'Too many requests', principal: 'ada' },
  ])
})

test('the page, its logins and the files for installers are remembered, and health is not', async () => {
  const authenticate: Authenticate = async (token) =>
    token === TOKEN ? { id: 'ada', scopes: new Set<Scope>(['page', 'well-known']) } : undefined
  await using hub = await open({ access: { authenticate, isTokenRequired: true } })
  const { url } = hub.served.http
  const formHeaders = { origin: url, 'content-type': 'application/x-www-form-urlencoded' }
  const form = (token: string): RequestInit => ({
    method: 'POST',
    redirect: 'manual',
    headers: formHeaders,
    body: new URLSearchParams({ token }).toString(),
  })
  const headers = { authorization: `Bearer ${TOKEN}` }

  await fetch(url)
  await fetch(`${url}/login`, form('wrong'))
  const login = await fetch(`${url}/login`, form(TOKEN))
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  await fetch(url, { headers: { cookie } })
  await fetch(`${url}/logout`, { ...form(TOKEN), headers: { ...formHeaders, cookie } })
  await fetch(`${url}/.well-known/agent-skills/index.json`, { headers })
  await fetch(`${url}/.well-known/agent-skills/pdf/SKILL.md`, { headers })
  await fetch(`${url}/.well-known/agent-skills/none/SKILL.md`, { headers })
  for (const path of ['/healthz', '/readyz', '/nothing']) await fetch(`${url}${path}`)

  const told = hub.events.map(({ asked, allowed, principal }) => [asked, allowed, principal])
  expect(told).toEqual([
    ['GET /', false, undefined],
    ['POST /login', false, undefined],
    ['POST /login', true, 'ada'],
    ['GET /', true, 'ada'],
    ['POST /logout', true, undefined],
    ['GET /.well-known/agent-skills/index.json', true, 'ada'],
    ['GET /.well-known/agent-skills/pdf/SKILL.md', true, 'ada'],
    ['GET /.well-known/agent-skills/none/SKILL.md', false, 'ada'],
  ])
  expect(JSON.stringify(hub.events)).not.toContain(TOKEN)
})

test.each(['legacy', 'modern'] as const)(
  'over stdio (%s) each is remembered once in the state folder, with user, process and client, and no content',
  async (era) => {
    await using hub = await open()
    const peer = await stdio(['--config', hub.served.configFile], era)
    const asked = ASKED.filter(([method]) => /^(?:skills|resources)\//.test(method))

    for (const [method, params] of asked) await peer.call(method, params)
    await peer.subscribe([URI])
    await peer.call('tools/call', { name: 'none' })
    const { pid } = peer.process
    await peer[Symbol.asyncDispose]()

    const { lines, text } = await auditIn(hub.served.config.state)
    const own = lines.filter((line) => line['pid'] === pid)
    const expected = [
      ...asked.map(([method, , event]) => Object.assign({ asked: method }, event)),
      { asked: era === 'modern' ? 'subscriptions/listen' : 'resources/subscribe', of: URI, allowed: true },
      { asked: 'tools/call', of: 'none', allowed: false },
    ]
    // What is allowed and what is refused lie in files of their own.
    for (const isAllowed of [true, false])
      expect(own.filter(({ allowed }) => allowed === isAllowed)).toMatchObject(
        expected.filter(({ allowed }) => allowed === isAllowed),
      )
    expect(own).toHaveLength(expected.length)
    for (const line of own) expect(line).toMatchObject({ via: 'stdio', client: 'test', generation: 1 })
    expect(own.every(({ at, user }) => typeof user === 'string' && !Number.isNaN(Date.parse(String(at))))).toBe(true)
    expect(text).not.toMatch(new RegExp(`${CONTENT}|${TOKEN}`))
  },
)

test('the log of a daemon is in its state folder, open to its owner alone', async () => {
  await using hub = await open({}, false)
  await using peer = await modernHttp(hub.served.url)
  await peer.call('resources/read', { uri: URI })

  const folder = join(hub.served.config.state, 'audit')
  await expect
    .poll(async () => (await auditIn(hub.served.config.state)).lines)
    .toMatchObject([{ via: 'http', asked: 'resources/read', of: URI, allowed: true }])
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect((await stat(join(folder, 'audit.jsonl'))).mode & 0o777).toBe(0o600)
})

async function open(options: ServedOptions = {}, isHeard = true, files: Readonly<Record<string, string>> = {}) {
  const repository = await Repository.create()
  await repository.commit({ 'pdf/SKILL.md': skillText('pdf', '', CONTENT), ...files })
  const events: AuditEvent[] = []
  const served = await serve(repository, { ...options, ...(isHeard && { audit: (event) => void events.push(event) }) })
  return {
    repository,
    served,
    events,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

async function ask(peer: Peer, url: string, method: string, params: object): Promise<void> {
  if (peer.kind !== 'M') return void (await peer.call(method, params))
  // The header names tools and prompts too.
  const name = 'name' in params ? { 'mcp-name': String(params.name) } : {}
  const headers = { ...modernHeaders(method, params), ...name }
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }
  await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function auditIn(state: string): Promise<{ readonly lines: Record<string, unknown>[]; readonly text: string }> {
  const folder = join(state, 'audit')
  const names = await readdir(folder).catch(() => [])
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  const text = texts.join('')
  return {
    text,
    lines: text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  }
}
