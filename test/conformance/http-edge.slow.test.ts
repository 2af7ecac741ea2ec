import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { META, eventsOf, hear, legacyHttp } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { INITIALIZE, LEGACY_REVISION, exchange, legacy, modern } from './exchange.ts'

const DOCUMENT = '---\nname: tidy\ndescription: Tidies up\n---\n# tidy\n'
const URI = 'skill://fx/tidy/SKILL.md'
const MIB = 2 ** 20

let repository: Repository
let served: Served
let session: string
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({ 'tidy/SKILL.md': DOCUMENT, 'tidy/big.txt': 'x'.repeat(8 * MIB) })
  served = await serve(repository)
  session = (await legacyHttp(served.url)).session
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

test.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp'])(
  'a body that is not declared as JSON is refused with 415: %s',
  async (type) => {
    const { headers, body } = legacy('initialize', INITIALIZE)
    const { 'content-type': _, ...others } = headers

    const reply = await exchange(served.url, { headers: { ...others, ...(type && { 'content-type': type }) }, body })

    expect(reply).toMatchObject({ status: 415, error: { code: -32000 } })
  },
)

test.each(['application/json; charset=utf-8', 'Application/JSON'])(
  'a body that is declared as JSON in another way is read: %s',
  async (type) => {
    const { headers, body } = modern('skills/list')

    const reply = await exchange(served.url, { headers: { ...headers, 'content-type': type }, body })

    expect(reply).toMatchObject({ status: 200, result: { skills: [{ uri: URI }] } })
  },
)

test('a body of 1 MiB to the byte is read, and one byte more is refused with 413', async () => {
  const { headers, body } = modern('skills/list')
  const sized = (bytes: number): string => JSON.stringify(body).padEnd(bytes, ' ')

  const at = await exchange(served.url, { headers, body: sized(MIB) })
  const over = await exchange(served.url, { headers, body: sized(MIB + 1) })

  expect(at.status).toBe(200)
  expect(over).toMatchObject({ status: 413, error: { code: -32000 } })
  expect(over.headers.get('connection')).toBe('close')
})

test('a body over 1 MiB whose length nobody declared is refused with 413', async () => {
  const { headers, body } = modern('skills/list')
  const chunks = [Buffer.from(JSON.stringify(body)), ...Array.from({ length: 16 }, () => Buffer.alloc(MIB / 8, ' '))]

  const reply = await exchange(served.url, { headers, chunks })

  expect(reply).toMatchObject({ status: 413, error: { code: -32000 } })
})

test.each([65, 150_000])(
  'a body that is nested %i deep is refused as no request, and makes no error of ours',
  async (depth) => {
    const list = legacy('skills/list')
    const bodies = ['[]', '{"a":}'].map((pair) => {
      const inner = pair.slice(0, -1).repeat(depth - 3) + (pair === '[]' ? '' : '1') + pair.slice(-1).repeat(depth - 3)
      return { pair, inner }
    })

    for (const { inner } of bodies) {
      const meta = `{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{"_meta":{"x":${inner}}}}`
      const start = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"x":${inner}}}}`
      for (const body of [meta, start]) {
        const reply = await exchange(served.url, { headers: list.headers, body })

        expect([reply.status, reply.error?.code]).toEqual([400, -32600])
      }
    }
    expect(served.logged()).not.toContain('request-failed')
  },
)

test('brackets in a text nest nothing', async () => {
  const { headers, body } = modern('skills/list', { cursor: `${'"['.repeat(100)}\\${'{'.repeat(100)}` })

  const reply = await exchange(served.url, { headers, body })

  expect([reply.status, reply.error?.code]).toEqual([200, -32602])
})

test.each(['', '{', '{"jsonrpc":"2.0",', 'null true', '\u{FEFF}{}', "{'id':1}"])(
  'a body that is no JSON is refused as such: %j',
  async (body) => {
    const reply = await exchange(served.url, { headers: modern('skills/list').headers, body })

    expect(reply).toMatchObject({ status: 400, id: null, error: { code: -32700 } })
  },
)

test.each([
  5,
  'text',
  null,
  true,
  [],
  [5],
  {},
  { jsonrpc: '2.0' },
  { jsonrpc: '1.0', id: 1, method: 'skills/list' },
  { jsonrpc: '2.0', id: null, method: 'skills/list' },
  { jsonrpc: '2.0', id: {}, method: 'skills/list' },
  { jsonrpc: '2.0', id: 1, method: 5 },
  { jsonrpc: '2.0', id: 1, method: 'skills/list', params: [] },
  { jsonrpc: '2.0', id: 1, method: 'skills/list', params: null },
  [{ jsonrpc: '2.0', id: 1, method: 'skills/list' }, { nope: 1 }],
])('JSON that is no message of JSON-RPC is refused as such: %j', async (body) => {
  const replies = await Promise.all([
    exchange(served.url, { headers: legacy('', {}, session).headers, body: JSON.stringify(body) }),
    exchange(served.url, { headers: modern('skills/list').headers, body: JSON.stringify(body) }),
  ])

  for (const reply of replies) expect(reply).toMatchObject({ status: 400, error: { code: -32600 } })
})

test('a batch of the 2025 era is answered message by message, its notifications with nothing', async () => {
  const { headers } = legacy('', {}, session)
  const body = [
    { jsonrpc: '2.0', id: 'a', method: 'skills/get', params: { uri: URI } },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 'b', method: 'skills/nope' },
  ]

  const reply = await exchange(served.url, { headers, body })

  expect(reply.status).toBe(200)
  expect(reply.batch).toMatchObject([
    { id: 'a', result: { skill: { uri: URI } } },
    { id: 'b', error: { code: -32601 } },
  ])
})

test('of a batch, what makes the answer larger than 64 MiB is refused by itself, and so is what follows', async () => {
  const { headers } = legacy('', {}, session)
  const read = (id: number): object => ({
    jsonrpc: '2.0',
    id,
    method: 'resources/read',
    params: { uri: 'skill://fx/tidy/big.txt' },
  })
  const body = [...Array.from({ length: 9 }, (_, id) => read(id)), { jsonrpc: '2.0', id: 9, method: 'skills/list' }]

  const reply = await exchange(served.url, { headers, body })

  const refusal = { code: -32603, message: "The batch's answer is too large; send this request alone" }
  expect(reply.status).toBe(200)
  expect(reply.batch!.slice(0, 7).map((answer) => lengthOfRead(answer))).toEqual(Array(7).fill(8 * MIB))
  expect(reply.batch!.slice(7)).toEqual([7, 8, 9].map((id) => ({ jsonrpc: '2.0', id, error: refusal })))
})

test('a batch that holds a modern request is refused whole', async () => {
  const { headers, body } = modern('skills/list')
  const old = legacy('skills/list', {}, session)

  const replies = await Promise.all([
    exchange(served.url, { headers, body: [body] }),
    exchange(served.url, { headers: old.headers, body: [old.body, body] }),
  ])

  for (const reply of replies) expect(reply).toMatchObject({ status: 400, error: { code: -32600 } })
})

test('a batch that holds an initialize is refused whole', async () => {
  const opening = legacy('initialize', INITIALIZE)
  const { headers, body } = legacy('skills/list', {}, session)

  const reply = await exchange(served.url, { headers, body: [body, opening.body] })

  expect(reply).toMatchObject({ status: 400, error: { code: -32600 } })
})

test('a batch of more messages than a hundred is refused', async () => {
  const { headers, body } = legacy('skills/list', {}, session)

  const reply = await exchange(served.url, { headers, body: Array.from({ length: 101 }, () => body) })

  expect(reply).toMatchObject({ status: 400, error: { code: -32600 } })
})

test.each(['POST', 'GET', 'DELETE'])('%s without a session is refused with 400', async (method) => {
  const { headers, body } = legacy('skills/list')

  const reply = await exchange(served.url, { method, headers, ...(method === 'POST' && { body }) })

  expect(reply).toMatchObject({ status: 400, error: { code: -32000 } })
})

test.each(['POST', 'GET', 'DELETE'])('%s with a session that is none is refused with 404', async (method) => {
  const { headers, body } = legacy('skills/list', {}, 'never-given')

  const reply = await exchange(served.url, { method, headers, ...(method === 'POST' && { body }) })

  expect(reply).toMatchObject({ status: 404, error: { code: -32001 } })
})

test.each(['1999-01-01', '2026-07-28', 'latest', ''])(
  'a session that speaks of the version %j is refused with 400',
  async (version) => {
    const { headers, body } = legacy('skills/list', {}, session)

    const reply = await exchange(served.url, { headers: { ...headers, 'mcp-protocol-version': version }, body })

    expect(reply.status).toBe(400)
    expect([-32000, -32602, -32020, -32022]).toContain(reply.error?.code)
  },
)

test.each(['2025-11-25', '2025-06-18', '2025-03-26'])('initialize with %s settles on it', async (version) => {
  await using peer = await legacyHttp(served.url, version)

  expect(peer.opening.result.protocolVersion).toBe(version)
  expect((await peer.call('skills/list')).result.skills).toHaveLength(1)
})

test('initialize with a version that is not known settles on the latest of its era', async () => {
  const { headers, body } = legacy('initialize', { ...INITIALIZE, protocolVersion: '1999-01-01' })

  const reply = await exchange(served.url, { headers, body })

  expect(reply).toMatchObject({ status: 200, result: { protocolVersion: LEGACY_REVISION } })
})

test.each([{}, { protocolVersion: LEGACY_REVISION }, { ...INITIALIZE, protocolVersion: 5 }])(
  'initialize that does not say what it must is invalid, in a session and without one: %j',
  async (params) => {
    const { sessions } = served.http.counts()

    const replies = await Promise.all(
      [session, undefined].map((known) => exchange(served.url, legacy('initialize', params, known))),
    )

    for (const reply of replies) expect(reply).toMatchObject({ status: 400, id: 1, error: { code: -32602 } })
    expect(served.http.counts().sessions).toBe(sessions)
  },
)

test.each([
  ['server/discover', 'legacy', 200],
  ['subscriptions/listen', 'legacy', 200],
  ['__proto__', 'legacy', 200],
  ['initialize', 'modern', 404],
  ['ping', 'modern', 404],
  ['resources/subscribe', 'modern', 404],
  ['constructor', 'modern', 404],
] as const)('%s is unknown to the %s era', async (method, era, status) => {
  const params = { uri: URI, notifications: {} }
  const request = era === 'modern' ? modern(method, params) : legacy(method, params, session)

  const reply = await exchange(served.url, request)

  expect(reply).toMatchObject({ status, error: { code: -32601 } })
})

test.each(['mcp-protocol-version', 'mcp-method', 'mcp-name'])(
  'a modern request without the header %s is refused',
  async (name) => {
    const { headers, body } = modern('resources/read', { uri: URI })
    const { [name]: _, ...others } = headers

    const reply = await exchange(served.url, { headers: others, body })

    expect(reply).toMatchObject({ status: 400, id: 1, error: { code: -32020 } })
  },
)

test.each([
  ['mcp-protocol-version', LEGACY_REVISION],
  ['mcp-method', 'skills/list'],
  ['mcp-method', 'RESOURCES/READ'],
  ['mcp-name', 'skill://fx/other/SKILL.md'],
  ['mcp-name', ''],
  ['mcp-name', URI.toUpperCase()],
  ['mcp-name', '=?base64?!!!!?='],
  ['mcp-name', `=?base64?${Buffer.from('skill://fx/other/SKILL.md').toString('base64')}?=`],
])('a modern request whose header %s disagrees with its body is refused: %s', async (name, value) => {
  const { headers, body } = modern('resources/read', { uri: URI })

  const reply = await exchange(served.url, { headers: { ...headers, [name]: value }, body })

  expect(reply).toMatchObject({ status: 400, id: 1, error: { code: -32020 } })
})

test('a header Mcp-Name that is not well formed is refused, whatever the body names', async () => {
  const { headers, body } = modern('resources/read')

  const reply = await exchange(served.url, { headers: { ...headers, 'mcp-name': '=?base64?!!!!?=' }, body })

  expect(reply).toMatchObject({ status: 400, id: 1, error: { code: -32020 } })
})

test.each([
  ['as it is', URI],
  ['in base64', `=?base64?${Buffer.from(URI).toString('base64')}?=`],
  ['with space around', `  ${URI} `],
])('the header Mcp-Name may name the resource %s', async (_, name) => {
  const { headers, body } = modern('resources/read', { uri: URI })

  const reply = await exchange(served.url, { headers: { ...headers, 'mcp-name': name }, body })

  expect(reply).toMatchObject({ status: 200, result: { contents: [{ uri: URI, text: DOCUMENT }] } })
})

test('a modern request needs no session, and one that is none does it no harm', async () => {
  const { headers, body } = modern('skills/list')

  const reply = await exchange(served.url, { headers: { ...headers, 'mcp-session-id': 'never-given' }, body })

  expect(reply.status).toBe(200)
  expect(reply.headers.has('mcp-session-id')).toBe(false)
})

test('notifications of both eras are taken with 202 and an empty body', async () => {
  const method = 'notifications/initialized'
  const replies = await Promise.all([
    exchange(served.url, { headers: legacy('', {}, session).headers, body: { jsonrpc: '2.0', method } }),
    exchange(served.url, {
      headers: modern('notifications/cancelled').headers,
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: META } },
    }),
  ])

  for (const reply of replies) {
    expect(reply.status).toBe(202)
    expect(reply.error).toBeUndefined()
  }
})

test('DELETE ends a session with all that belongs to it', async () => {
  await using peer = await legacyHttp(served.url)
  const before = served.http.counts()
  const heard = await peer.subscribe([URI])
  const streamEnd = heard.next(() => true).catch((error: Error) => error.message)
  const { headers, body } = legacy('skills/list', {}, peer.session)

  const ended = await exchange(served.url, { method: 'DELETE', headers })
  const after = await exchange(served.url, { headers, body })

  expect(ended.status).toBe(200)
  expect(after.status).toBe(404)
  expect(await streamEnd).toBe('The stream ended; it brought []')
  expect(served.http.counts()).toMatchObject({ sessions: before.sessions - 1, subscribedUris: before.subscribedUris })
})

test('a second stream of one session takes the place of the first one, which ends', async () => {
  await using peer = await legacyHttp(served.url)
  const first = await peer.subscribe([URI])
  const { headers } = legacy('', {}, peer.session)
  const stop = new AbortController()

  const response = await fetch(served.url, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: stop.signal,
  })
  await using heard = hear(eventsOf(response), async () => stop.abort())
  const end = await first.next(() => false).catch((error: Error) => error.message)
  await repository.commit({ 'tidy/SKILL.md': `${DOCUMENT}More.\n` })
  await served.sync()
  await repository.commit({ 'tidy/SKILL.md': DOCUMENT })
  await served.sync()

  expect(end).toBe('The stream ended; it brought []')
  expect(await heard.next(({ method }) => method === 'notifications/resources/updated')).toMatchObject({
    params: { uri: URI },
  })
})

test('a stream that the client could not read is refused with 406', async () => {
  const { headers } = legacy('', {}, session)

  const reply = await exchange(served.url, { method: 'GET', headers: { ...headers, accept: 'application/json' } })

  expect(reply).toMatchObject({ status: 406, error: { code: -32000 } })
})

test.each(['PUT', 'PATCH', 'OPTIONS'])('%s is refused with 405 and the methods that there are', async (method) => {
  const reply = await exchange(served.url, { method, headers: { 'content-type': 'application/json' } })

  expect(reply.status).toBe(405)
  expect(reply.headers.get('allow')).toBe('GET, POST, DELETE')
  expect(reply.headers.has('access-control-allow-origin')).toBe(false)
})

test.each(['/index.html', '/mcp//', '/MCP', '/mcp/x', '/constructor', '/..%2fmcp', '/health'])(
  'nothing is served at %s',
  async (path) => {
    const reply = await exchange(served.http.url + path, modern('skills/list'))

    expect(reply.status).toBe(404)
  },
)

test.each(['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', '[::2]'])(
  'a request to the host %s is refused on every path',
  async (host) => {
    const { headers, body } = modern('skills/list')

    const replies = await Promise.all(
      ['/mcp', '/nowhere'].map((path) => exchange(served.http.url + path, { headers: { ...headers, host }, body })),
    )

    expect(replies.map(({ status }) => status)).toEqual([403, 403])
  },
)

test.each(['localhost', 'localhost:1234', 'LOCALHOST:80', '127.0.0.1', '127.0.0.1:8741', '[::1]:8741', '[::1]'])(
  'a request to the host %s is answered',
  async (host) => {
    const { headers, body } = modern('skills/list')

    const reply = await exchange(served.url, { headers: { ...headers, host }, body })

    expect(reply.status).toBe(200)
  },
)

test.each([
  'null',
  'http://evil.example',
  'https://localhost.evil.example',
  'http://localhost@evil.example',
  'file://',
  '',
])('a request from the origin %j is refused by every method', async (origin) => {
  const { headers, body } = modern('skills/list')
  const from = { ...headers, origin }

  const replies = await Promise.all([
    exchange(served.url, { headers: from, body }),
    exchange(served.url, { method: 'GET', headers: { ...legacy('', {}, session).headers, origin } }),
    exchange(served.url, { method: 'DELETE', headers: { ...legacy('', {}, session).headers, origin } }),
    exchange(served.url, { method: 'OPTIONS', headers: from }),
  ])

  expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 403])
})

test.each(['http://localhost', 'http://localhost:6274', 'https://127.0.0.1:8443', 'http://[::1]:6274'])(
  'a request from the origin %s is answered',
  async (origin) => {
    const { headers, body } = modern('skills/list')

    const reply = await exchange(served.url, { headers: { ...headers, origin }, body })

    expect(reply.status).toBe(200)
  },
)

test('a client that goes away while it sends, or before it was answered, leaves no trace', async () => {
  await using own = await serve(repository)
  const { headers, body } = modern('resources/read', { uri: 'skill://fx/tidy/big.txt' })
  const whole = head(own.http.url, headers, JSON.stringify(body))
  const before = own.logged()

  for (const part of [whole.slice(0, 40), whole.slice(0, -20), whole]) {
    const socket = await connected(own.http.url)
    socket.write(part)
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  const reply = await exchange(own.url, { headers, body })
  const counts = own.http.counts()
  await own.http[Symbol.asyncDispose]()

  expect(reply.status).toBe(200)
  expect(counts).toEqual({ sessions: 0, streams: 0, subscribedUris: 0 })
  expect(own.logged()).toBe(before)
})

test('a request that says less than its length is ended in time, not waited for', async () => {
  await using own = await serve(repository, {
    limits: { headersMs: 1_000, requestMs: 1_000 },
  })
  const { headers, body } = modern('skills/list')
  const whole = head(own.http.url, headers, JSON.stringify(body))

  const socket = await connected(own.http.url)
  socket.write(whole.slice(0, -1))

  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
})

// oxlint-disable-next-line typescript/no-explicit-any -- what is on the wire has no type
function lengthOfRead(answer: any): number {
  return answer.result.contents[0].text.length
}

async function connected(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** A whole POST as it stands on the wire. */
function head(url: string, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries({ host: new URL(url).host, 'content-length': String(body.length), ...headers })
  return `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}
