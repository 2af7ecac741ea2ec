import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tokens } from '../../../src/daemon/access/tokens.ts'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import type { Surface } from '../../../src/serve/mcp/core/methods.ts'
import type { Principal, Scope } from '../../../src/serve/principal.ts'
import { INITIALIZE, exchange, legacy, modern } from '../../conformance/exchange.ts'
import type { Answer } from '../../conformance/exchange.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import type { Served, ServedOptions } from '../../support/served.ts'

const SKILL = 'skill://fx/tidy/SKILL.md'

/** Reached by other names than those of loopback, so that a token is needed. */
const HUB: ServedOptions = {
  config: [
    'serve:',
    '  http:',
    '    public_url: https://skills.example.com',
    '    allowed_hosts: [hub.example.com, "10.1.2.3:99"]',
    '    allowed_origins: [https://app.example.com]',
  ],
}

const TOOLS: Surface = {
  scope: 'tools',
  capabilities: { tools: {} },
  methods: (known) => ({ ...known, 'tools/list': () => ({ tools: [] }) }),
}

let repository: Repository
let hub: Served
let local: Served

beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({ 'tidy/SKILL.md': '---\nname: tidy\ndescription: d\n---\nbody\n' })
  hub = await serve(repository, HUB)
  local = await serve(repository, { surfaces: [TOOLS] })
})

afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await local[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

/** What was sent before on other connections has come in when another request was answered. */
async function untilAsked(url: string): Promise<void> {
  for (let asked = 0; asked < 3; asked += 1) await exchange(url, modern('server/discover'))
}

let made = 0

/** A token that the server knows from now on. */
async function tokenOf(tokens: Tokens, options: { scopes?: readonly Scope[]; livesMs?: number } = {}): Promise<string> {
  const { secret, name } = await namedToken(tokens, options)
  expect(name).not.toBe('')
  return secret
}

async function namedToken(
  tokens: Tokens,
  { scopes = ['skills'], livesMs }: { scopes?: readonly Scope[]; livesMs?: number } = {},
): Promise<{ readonly name: string; readonly secret: string }> {
  made += 1
  const { secret, sha256 } = newToken()
  const name = `token-${made}`
  const created = new Date()
  const expires = livesMs === undefined ? {} : { expires: new Date(created.getTime() + livesMs).toISOString() }
  await tokens.add({ name, sha256, scopes, created: created.toISOString(), ...expires })
  return { name, secret }
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

async function ask(served: Served, headers: Readonly<Record<string, string>>, method = 'skills/list', params = {}) {
  const sent = modern(method, params)
  return exchange(served.url, { headers: { ...sent.headers, ...headers }, body: sent.body })
}

function challengeOf({ headers }: Answer): string | null {
  return headers.get('www-authenticate')
}

describe('where a token is needed', () => {
  test('a request with a right token is answered, in both eras', async () => {
    const headers = bearer(await tokenOf(hub.daemon.parts.tokens))

    const [listed, opened] = await Promise.all([
      ask(hub, headers),
      exchange(hub.url, {
        headers: { ...legacy('initialize').headers, ...headers },
        body: legacy('initialize', INITIALIZE).body,
      }),
    ])

    expect([listed.status, opened.status]).toEqual([200, 200])
    expect(listed.result.skills).toHaveLength(1)
  })

  test('without a token the answer is 401 with a challenge that tells of no error', async () => {
    const replies = await Promise.all([
      ask(hub, {}),
      exchange(hub.url, { method: 'GET' }),
      exchange(hub.url, { method: 'DELETE' }),
    ])

    expect(replies.map(({ status }) => status)).toEqual([401, 401, 401])
    expect(replies.map(challengeOf)).toEqual(Array.from({ length: 3 }, () => 'Bearer scope="skills"'))
  })

  test.each([
    ['one that nobody made', `Bearer ${newToken().secret}`],
    ['one of another form', 'Bearer abc'],
    ['one that is empty', 'Bearer '],
    ['two in one header', `Bearer ${newToken().secret} ${newToken().secret}`],
    ['one with a control character', 'Bearer a\tb'],
    ['another scheme', 'Basic c2tzOnNrcw=='],
    ['one that is too long', `Bearer ${'a'.repeat(9_000)}`],
  ])('a wrong token, %s, is 401 and invalid_token', async (_, authorization) => {
    const reply = await ask(hub, { authorization })

    expect(reply.status).toBe(401)
    expect(challengeOf(reply)).toBe('Bearer error="invalid_token", scope="skills"')
  })

  test('an expired token and a revoked one are told nothing but that they are not valid', async () => {
    const expired = await tokenOf(hub.daemon.parts.tokens, { livesMs: 0 })
    const revoked = await namedToken(hub.daemon.parts.tokens)
    const before = await ask(hub, bearer(revoked.secret))
    await hub.daemon.parts.tokens.revoke(revoked.name)

    const replies = [
      await ask(hub, bearer(expired)),
      await ask(hub, bearer(revoked.secret)),
      await ask(hub, bearer('sks_unknown')),
    ]

    expect(before.status).toBe(200)
    expect(
      new Set(
        replies.map(({ status, error, headers }) => JSON.stringify([status, error, headers.get('www-authenticate')])),
      ),
    ).toEqual(new Set([JSON.stringify([401, replies[0]?.error, 'Bearer error="invalid_token", scope="skills"'])]))
  })

  test('the denial is the same whatever is asked for, and comes before the body is looked at', async () => {
    const replies = await Promise.all([
      ask(hub, {}, 'resources/read', { uri: SKILL }),
      ask(hub, {}, 'resources/read', { uri: 'skill://fx/nothing/SKILL.md' }),
      ask(hub, {}, 'no/such/method'),
      exchange(hub.url, { headers: { 'content-type': 'application/json' }, body: '{' }),
      exchange(hub.url, { headers: { 'content-type': 'text/plain' }, body: 'x' }),
      exchange(hub.url, { headers: { 'content-length': String(2 ** 30) } }),
    ])

    const told = replies.map(({ status, error, headers }) => [status, error, headers.get('www-authenticate')])
    for (const one of told) expect(one).toEqual(told[0])
    expect(told[0]?.[0]).toBe(401)
    expect(JSON.stringify(told)).not.toContain('tidy')
  })

  test.each(['access_token=', 'token=', 'x=1&ACCESS_TOKEN=', '%74oken=', 'access%5Ftoken='])(
    'a token in the query (?%s) is refused, although the one in the header is right',
    async (query) => {
      const token = await tokenOf(hub.daemon.parts.tokens)
      const sent = modern('skills/list')

      const reply = await exchange(`${hub.url}?${query}${token}`, {
        headers: { ...sent.headers, ...bearer(token) },
        body: sent.body,
      })
      const alone = await exchange(`${hub.url}?${query}${token}`, sent)

      expect([reply.status, alone.status]).toEqual([400, 400])
      expect(challengeOf(reply)).toBe('Bearer error="invalid_request", scope="skills"')
      expect(hub.logged()).not.toContain(token)
    },
  )

  test('a token that opens something else is 403 and insufficient_scope, with the scope that is wanted', async () => {
    const reply = await ask(hub, bearer(await tokenOf(hub.daemon.parts.tokens, { scopes: ['page', 'tools'] })))

    expect(reply.status).toBe(403)
    expect(challengeOf(reply)).toBe('Bearer error="insufficient_scope", scope="skills"')
  })

  test('two Authorization headers are refused, whichever of them is right', async () => {
    const token = await tokenOf(hub.daemon.parts.tokens)

    const status = await rawStatus(hub, [
      'POST /mcp HTTP/1.1',
      'Host: hub.example.com',
      `Authorization: Bearer ${token}`,
      `Authorization: Bearer ${token}`,
      'Content-Length: 0',
      'Connection: close',
    ])

    expect(status).toBe(400)
  })

  test.each([
    ['the origin of a foreign page', 'Origin: https://evil.example'],
    ['another host', 'Host: evil.example'],
    ['nothing to hide', 'x: y'],
  ])('a head of more than a hundred headers is refused before any is looked at: %s comes last', async (_, last) => {
    const token = await tokenOf(hub.daemon.parts.tokens)
    const first = ['Host: hub.example.com', `Authorization: Bearer ${token}`, 'Content-Length: 0', 'Connection: close']
    const many = Array.from({ length: 96 }, (__, index) => `x-${index}: y`)

    const status = await rawStatus(hub, ['POST /mcp HTTP/1.1', ...first, ...many, last])
    const fewer = await rawStatus(hub, ['POST /mcp HTTP/1.1', ...first, ...many])

    expect([status, fewer]).toEqual([431, 415])
  })

  test('two Host headers are refused, though both are ours', async () => {
    const head = ['GET /healthz HTTP/1.1', 'Host: hub.example.com', 'HOST: hub.example.com', 'Connection: close']

    expect(await rawStatus(hub, head)).toBe(400)
  })

  test('what is answered is private to who asked; where everybody may ask it is public', async () => {
    const [known, nobody] = [await ask(hub, bearer(await tokenOf(hub.daemon.parts.tokens))), await ask(local, {})]

    expect(known.result.cacheScope).toBe('private')
    expect(nobody.result.cacheScope).toBe('public')
  })
})

describe('on loopback', () => {
  test('no token is needed, and a wrong one is refused all the same', async () => {
    const right = await ask(local, bearer(await tokenOf(local.daemon.parts.tokens)))
    const wrong = await ask(local, bearer(newToken().secret))
    const none = await ask(local, {})

    expect([right.status, wrong.status, none.status]).toEqual([200, 401, 200])
  })

  test.each(['modern', 'legacy'] as const)(
    'a surface whose scope a token lacks does not exist for its caller, of the %s era',
    async (era) => {
      const [withTools, without] = [
        bearer(await tokenOf(local.daemon.parts.tokens, { scopes: ['skills', 'tools'] })),
        bearer(await tokenOf(local.daemon.parts.tokens)),
      ]

      const seen = []
      for (const headers of [withTools, without, {}]) seen.push(await toolsSeen(era, headers))

      expect(seen).toEqual([
        { declared: true, answer: { tools: [] } },
        { declared: false, answer: -32601 },
        { declared: true, answer: { tools: [] } },
      ])
    },
  )

  test('a token that is made under the name of a revoked one does not find the sessions of that one', async () => {
    const { tokens } = local.daemon.parts
    const { name, secret } = await namedToken(tokens)
    const session = await openSession(local, bearer(secret))
    await tokens.revoke(name)
    const again = newToken()
    await tokens.add({ name, sha256: again.sha256, scopes: ['skills'], created: new Date().toISOString() })

    const listed = legacy('resources/list', {}, session)
    const reply = await exchange(local.url, {
      headers: { ...listed.headers, ...bearer(again.secret) },
      body: listed.body,
    })

    expect(reply.status).toBe(404)
  })

  test('a token that is revoked while its request comes in opens nothing, and no stream', async () => {
    const { tokens } = local.daemon.parts
    const filter = { notifications: { resourcesListChanged: true } }
    for (const { headers, body } of [modern('skills/list'), modern('subscriptions/listen', filter)]) {
      const { name, secret } = await namedToken(tokens)
      const [first, rest] = [JSON.stringify(body).slice(0, 5), JSON.stringify(body).slice(5)]
      const outgoing = request(local.url, { method: 'POST', headers: { ...headers, ...bearer(secret) } })
      const answered = once(outgoing, 'response')
      outgoing.write(first)
      await untilAsked(local.url)
      await tokens.revoke(name)

      outgoing.end(rest)
      const [response]: IncomingMessage[] = await answered

      expect(response?.statusCode).toBe(401)
      response?.resume()
    }
  })

  test('a token that is revoked while its batch is answered opens nothing of the rest', async () => {
    let isOver = false
    const revoking: Surface = {
      capabilities: {},
      methods: (known) => ({ ...known, 'test/revoke': () => ({ revoked: (isOver = true) }) }),
    }
    const authenticate = async (): Promise<Principal> => ({
      id: 'ada',
      scopes: new Set(['skills']),
      isOver: () => isOver,
    })
    const access = { authenticate, isTokenRequired: true }
    await using served = await serve(repository, { surfaces: [revoking], access })
    const session = await openSession(served, bearer('any'))
    const messages = ['resources/list', 'test/revoke', 'resources/list'].map((method) => legacy(method, {}, session))

    const { batch } = await exchange(served.url, {
      headers: { ...messages[0]!.headers, ...bearer('any') },
      body: messages.map(({ body }) => body),
    })

    expect(batch).toMatchObject([{ result: { resources: [{}] } }, { result: {} }, { error: { code: -32000 } }])
  })

  test('a session of the 2025 era is of the principal that opened it: for everybody else it is unknown', async () => {
    const [owner, other] = [await namedToken(local.daemon.parts.tokens), await namedToken(local.daemon.parts.tokens)]
    const owned = await openSession(local, bearer(owner.secret))
    const free = await openSession(local, {})

    const statuses = async (session: string, headers: Record<string, string>): Promise<number[]> => {
      const listed = legacy('resources/list', {}, session)
      const all = { ...listed.headers, ...headers }
      return [
        (await exchange(local.url, { headers: all, body: listed.body })).status,
        (await exchange(local.url, { method: 'GET', headers: { ...all, accept: 'text/plain' } })).status,
      ]
    }

    expect(await statuses(owned, bearer(owner.secret))).toEqual([200, 406])
    expect(await statuses(owned, bearer(other.secret))).toEqual([404, 404])
    expect(await statuses(owned, {})).toEqual([404, 404])
    expect(await statuses(free, {})).toEqual([200, 406])
    expect(await statuses(free, bearer(owner.secret))).toEqual([404, 404])
    const ended = { ...legacy('', {}, owned).headers, ...bearer(other.secret) }
    expect((await exchange(local.url, { method: 'DELETE', headers: ended })).status).toBe(404)
    expect(await statuses(owned, bearer(owner.secret))).toEqual([200, 406])
  })

  async function toolsSeen(era: 'modern' | 'legacy', headers: Record<string, string>): Promise<object> {
    const session = era === 'legacy' ? await openSession(local, headers) : undefined
    const send = async (method: string, params: object): Promise<Answer> => {
      const sent = era === 'modern' ? modern(method, params) : legacy(method, params, session)
      return exchange(local.url, { headers: { ...sent.headers, ...headers }, body: sent.body })
    }
    const opening = era === 'modern' ? await send('server/discover', {}) : await initialize(local, headers)
    const listed = await send('tools/list', {})
    return {
      declared: 'tools' in opening.result.capabilities,
      answer: listed.error?.code ?? { tools: listed.result.tools },
    }
  }
})

describe('streams', () => {
  test('a stream of a token that is revoked ends at once, in both eras; those of others go on', async () => {
    await using served = await serve(repository)
    const { tokens } = served.daemon.parts
    const [one, other] = [await namedToken(tokens), await namedToken(tokens)]
    const streams = [
      await listenStream(served, bearer(one.secret)),
      await sessionStream(served, bearer(one.secret)),
      await listenStream(served, bearer(other.secret)),
    ]

    await tokens.revoke(one.name)
    const ends = await Promise.all(streams.slice(0, 2).map((stream) => text(stream)))
    const left = served.http.counts().streams
    await tokens.revoke(other.name)
    await text(streams[2]!)

    expect(left).toBe(1)
    // The last message of the modern era is the result of the request that it was.
    expect(ends[0]).toMatch(/"result":.*\n\n$/)
  })

  test('a session of a token that is revoked ends with it, and the next token of that name does not find it', async () => {
    await using served = await serve(repository)
    const { tokens } = served.daemon.parts
    const [one, other] = [await namedToken(tokens), await namedToken(tokens)]
    const [lost, kept, free] = [
      await openSession(served, bearer(one.secret)),
      await openSession(served, bearer(other.secret)),
      await openSession(served, {}),
    ]

    await tokens.revoke(one.name)
    const left = served.http.counts().sessions
    const next = newToken()
    await tokens.add({ name: one.name, sha256: next.sha256, scopes: ['skills'], created: new Date().toISOString() })
    const statuses = []
    for (const [session, headers] of [
      [lost, bearer(next.secret)],
      [kept, bearer(other.secret)],
      [free, {}],
    ] as const) {
      const { headers: sent, body } = legacy('resources/list', {}, session)
      statuses.push((await exchange(served.url, { headers: { ...sent, ...headers }, body })).status)
    }

    expect(left).toBe(2)
    expect(statuses).toEqual([404, 200, 200])
  })

  test('a stream of a token that expires ends, without anybody asking', async () => {
    await using served = await serve(repository, { limits: { keepAliveMs: 10 } })
    const token = await tokenOf(served.daemon.parts.tokens, { livesMs: 1_000 })

    const stream = await listenStream(served, bearer(token))
    await text(stream)
    const after = await ask(served, bearer(token))

    expect(after.status).toBe(401)
    expect(served.http.counts().streams).toBe(0)
  })
})

test('a client that is gone before its token was looked up leaves no stream behind', async () => {
  const lookedUp = Promise.withResolvers<Principal>()
  const asked = Promise.withResolvers<void>()
  const authenticate = async (token: string): Promise<Principal> => {
    if (token !== 'slow') return OWNER
    asked.resolve()
    return lookedUp.promise
  }
  await using served = await serve(repository, { access: { authenticate, isTokenRequired: true } })
  const session = await openSession(served, bearer('quick'))
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1').on('error', () => {})
  const lines = ['GET /mcp HTTP/1.1', 'Host: localhost', 'Authorization: Bearer slow', `Mcp-Session-Id: ${session}`]
  socket.write(`${[...lines, 'Accept: text/event-stream'].join('\r\n')}\r\n\r\n`)
  await asked.promise

  socket.resetAndDestroy()
  await once(socket, 'close')
  await exchange(`${served.http.url}/healthz`, { method: 'GET' })
  lookedUp.resolve(OWNER)
  await exchange(`${served.http.url}/healthz`, { method: 'GET' })

  expect(served.http.counts()).toMatchObject({ sessions: 1, streams: 0 })
})

test('where a client learns how to come by a token, each challenge says so', async () => {
  const metadataUrl = 'https://hub.example.com/.well-known/oauth-protected-resource/mcp'
  const authenticate = async (): Promise<undefined> => undefined
  await using served = await serve(repository, { access: { authenticate, isTokenRequired: true, metadataUrl } })

  const replies = [await ask(served, {}), await ask(served, bearer('wrong'))]

  expect(replies.map(challengeOf)).toEqual([
    `Bearer scope="skills", resource_metadata="${metadataUrl}"`,
    `Bearer error="invalid_token", scope="skills", resource_metadata="${metadataUrl}"`,
  ])
})

const OWNER: Principal = { id: 'owner', scopes: new Set(['skills']) }

describe('names', () => {
  const ROUTES = ['/mcp', '/healthz', '/readyz', '/hooks/fx', '/', '/nowhere', '/.well-known/agent-skills/index.json']

  test.each([
    ['a foreign name', { host: 'evil.example' }],
    ['a name below ours', { host: 'evil.hub.example.com' }],
    ['a name that begins as ours', { host: 'hub.example.com.evil.example' }],
    ['a user before ours', { host: 'hub.example.com@evil.example' }],
    ['a name that only looks like an address', { host: '127.0.0.999' }],
    ['a port other than the allowed', { host: '10.1.2.3:98' }],
    ['the origin null', { host: 'hub.example.com', origin: 'null' }],
    ['an origin that only looks like an address', { host: '127.0.0.1', origin: 'http://127.0.0.999' }],
    ['a foreign origin', { host: 'hub.example.com', origin: 'https://evil.example' }],
    [
      'an origin that begins as an allowed one',
      { host: 'hub.example.com', origin: 'https://app.example.com.evil.example' },
    ],
    ['the allowed origin in clear', { host: 'hub.example.com', origin: 'http://app.example.com' }],
    ['the public address in clear', { host: 'skills.example.com', origin: 'http://skills.example.com' }],
    ['another name of ours as origin', { host: 'skills.example.com', origin: 'https://hub.example.com' }],
  ])('%s is refused on every route, before a token is looked at', async (_, headers) => {
    const token = bearer(await tokenOf(hub.daemon.parts.tokens))

    const replies = await Promise.all(
      ROUTES.flatMap((route) => [
        exchange(new URL(route, hub.url).href, { method: 'GET', headers: { ...headers, ...token } }),
        exchange(new URL(route, hub.url).href, { headers: { ...modern('skills/list').headers, ...headers } }),
      ]),
    )

    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([403]))
    expect(replies.some((reply) => reply.headers.has('www-authenticate'))).toBe(false)
  })

  test.each([
    { host: 'hub.example.com' },
    { host: 'HUB.example.com:1234' },
    { host: '10.1.2.3:99' },
    { host: 'skills.example.com' },
    { host: '127.0.0.1' },
    { host: 'hub.example.com', origin: 'https://app.example.com' },
    { host: 'hub.example.com:80', origin: 'http://hub.example.com:80' },
    { host: 'skills.example.com', origin: 'https://skills.example.com' },
  ])('%j is one of ours', async (headers) => {
    const reply = await ask(hub, { ...headers, ...bearer(await tokenOf(hub.daemon.parts.tokens)) })

    expect(reply.status).toBe(200)
  })

  test('pages of an allowed site may read answers and ask whether they may ask; those of no other are told so', async () => {
    const token = bearer(await tokenOf(hub.daemon.parts.tokens))
    const page = { host: 'hub.example.com', origin: 'https://app.example.com' }
    const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

    const asked = await exchange(hub.url, { method: 'OPTIONS', headers: { ...page, ...preflight } })
    const answered = await ask(hub, { ...page, ...token })
    const denied = await ask(hub, page)
    const ownPage = await ask(hub, { ...token, host: 'hub.example.com', origin: 'http://hub.example.com' })
    const foreign = await exchange(hub.url, {
      method: 'OPTIONS',
      headers: { ...page, ...preflight, origin: 'https://evil.example' },
    })

    const allowed = [asked, answered, denied, ownPage, foreign].map(({ headers }) =>
      headers.get('access-control-allow-origin'),
    )
    expect([asked, answered, denied, ownPage, foreign].map(({ status }) => status)).toEqual([204, 200, 401, 200, 403])
    expect(allowed).toEqual([page.origin, page.origin, page.origin, null, null])
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization')
    expect(answered.headers.get('access-control-allow-credentials')).toBe(null)
  })

  test('a request without a Host header is refused', async () => {
    const statuses = await Promise.all([
      rawStatus(hub, ['GET /healthz HTTP/1.1', 'Connection: close']),
      rawStatus(hub, ['GET /healthz HTTP/1.0']),
    ])

    expect(statuses).toEqual([400, 403])
  })
})

describe('health', () => {
  test.each(['GET', 'HEAD'])('/healthz and /readyz are answered without a token, to %s', async (method) => {
    const headers = { host: 'hub.example.com' }

    const replies = await Promise.all(
      ['/healthz', '/readyz'].map((path) => fetchRaw(new URL(path, hub.url), method, headers)),
    )

    expect(replies.map(({ status }) => status)).toEqual([200, 200])
    expect(replies.map(({ body }) => body)).toEqual(
      method === 'HEAD' ? ['', ''] : ['{"status":"ok"}', '{"status":"ready"}'],
    )
  })

  test('another method is 405', async () => {
    const replies = await Promise.all(
      ['/healthz', '/readyz'].map((path) => exchange(new URL(path, hub.url).href, { body: '{}' })),
    )

    expect(replies.map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [405, 'GET, HEAD'],
      [405, 'GET, HEAD'],
    ])
  })
})

async function openSession(served: Served, headers: Readonly<Record<string, string>>): Promise<string> {
  return (await initialize(served, headers)).headers.get('mcp-session-id') ?? ''
}

async function initialize(served: Served, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const sent = legacy('initialize', INITIALIZE)
  return exchange(served.url, { headers: { ...sent.headers, ...headers }, body: sent.body })
}

async function listenStream(served: Served, headers: Record<string, string>): Promise<IncomingMessage> {
  const { body, headers: own } = modern('subscriptions/listen', { notifications: { resourcesListChanged: true } })
  return opened(served.url, 'POST', { ...own, ...headers }, JSON.stringify(body))
}

async function sessionStream(served: Served, headers: Record<string, string>): Promise<IncomingMessage> {
  const session = await openSession(served, headers)
  return opened(served.url, 'GET', { ...legacy('', {}, session).headers, accept: 'text/event-stream', ...headers })
}

/** The answer, when its head has come. */
async function opened(url: string | URL, method: string, headers: Record<string, string>, body?: string) {
  const outgoing = request(url, { method, headers, agent: false })
  outgoing.end(body)
  const [response] = await once(outgoing, 'response')
  return response as IncomingMessage
}

async function fetchRaw(url: URL, method: string, headers: Record<string, string>) {
  const response = await opened(url, method, headers)
  return { status: response.statusCode, body: await text(response) }
}

/** The status that a request gets which is sent as it stands here. */
async function rawStatus(served: Served, lines: readonly string[]): Promise<number> {
  const { port } = new URL(served.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.end(`${lines.join('\r\n')}\r\n\r\n`)
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(await text(socket))?.[1])
}
