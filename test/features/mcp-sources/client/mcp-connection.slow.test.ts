import { expect, test } from 'vitest'
import {
  DISCOVERED,
  NEVER,
  connect,
  error,
  legacy,
  listening,
  modern,
  result,
  say,
  type Heard,
} from '../upstream/servers.ts'

const SKILL = 'skill://a/SKILL.md'

test('a modern server is greeted by one request, and says what it is', async () => {
  await using server = await modern(() => {})

  await using connection = await connect(server.address)

  const { capabilities, instructions } = DISCOVERED
  expect(connection.greeting).toEqual({ era: 'modern', version: '2026-07-28', capabilities, instructions })
  expect(server.methods).toEqual(['server/discover'])
})

test('each request of the modern era names its version and its method, and no capability of ours', async () => {
  await using server = await modern((heard) => result(heard, { contents: [] }))
  await using connection = await connect(server.address)

  await connection.request('resources/read', { uri: SKILL }, NEVER)

  const { headers, body } = server.heard.at(-1)!
  expect(headers).toMatchObject({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'resources/read',
    'mcp-name': SKILL,
    'accept-encoding': 'identity',
    'user-agent': 'skillsyncd/1.2.3',
  })
  expect(body.params).toEqual({
    uri: SKILL,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'skillsyncd', version: '1.2.3' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  })
})

const PAGES = ['resources/list', 'resources/read', 'skills/list', 'skills/get', 'resources/directory/read', 'x/y']
const PAGE = { resources: [{ nope: 1 }, 7], contents: 'none', skills: [null], ttlMs: -1, nextCursor: 5 }

test.each(PAGES)('a page of %s comes as it is in either era, whatever is wrong with its entries', async (method) => {
  await using new_ = await modern((heard) => result(heard, PAGE))
  await using old = await legacy((heard) => result(heard, PAGE))
  await using inNew = await connect(new_.address)
  await using inOld = await connect(old.address)

  const replies = [await inNew.request(method, {}, NEVER), await inOld.request(method, {}, NEVER)]

  expect(replies).toEqual([
    { ok: true, result: PAGE },
    { ok: true, result: PAGE },
  ])
})

const UNDISCOVERED: readonly (readonly [string, (heard: Heard) => void])[] = [
  ['an error of -32602', (heard) => error(heard, -32602)],
  ['an error of -32601', (heard) => error(heard, -32601, undefined, 404)],
  [
    'an error without an id',
    (heard) => say(heard, { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no' } }, 400),
  ],
  [
    'an error with an empty id',
    (heard) => say(heard, { jsonrpc: '2.0', id: '', error: { code: -32600, message: 'no' } }),
  ],
  ['a result that says nothing', (heard) => result(heard, {})],
  ['older versions alone', (heard) => error(heard, -32022, { supported: ['2025-11-25'] }, 400)],
  ['not found', ({ response }) => response.writeHead(404).end()],
  ['an error of its own', ({ response }) => response.writeHead(500).end()],
  ['what is no JSON', ({ response }) => response.writeHead(200, { 'content-type': 'application/json' }).end('{')],
  ['nothing', () => {}],
]

test.each(UNDISCOVERED)(
  'a server that answers server/discover with %s is opened in the older way',
  async (_, undiscovered) => {
    await using server = await legacy((heard) => result(heard, { resources: [] }), undiscovered)

    await using connection = await connect(server.address, { connectMs: 1_000 })
    const reply = await connection.request('resources/list', {}, NEVER)

    expect(connection.greeting).toMatchObject({ era: 'legacy', version: '2025-11-25' })
    expect(reply).toEqual({ ok: true, result: { resources: [] } })
    const { headers, body } = server.heard.findLast(({ body }) => body?.method === 'resources/list')!
    expect(headers).toMatchObject({ 'mcp-session-id': 'one', 'mcp-protocol-version': '2025-11-25' })
    expect(body.params).toEqual({})
  },
)

test.each([
  [
    'offers another modern version',
    (heard: Heard) => error(heard, -32022, { supported: ['2027-01-01'] }, 400),
    '2027-01-01',
  ],
  ['offers no version', (heard: Heard) => error(heard, -32022, 7), 'none'],
  ['misses a capability', (heard: Heard) => error(heard, -32021), '-32021'],
  ['finds a header wrong', (heard: Heard) => error(heard, -32020, undefined, 400), '-32020'],
  ['knows newer versions alone', (heard: Heard) => result(heard, { supportedVersions: ['2027-01-01'] }), '2027-01-01'],
])('a modern server that %s is refused by name, and never initialized', async (_, answer, named) => {
  await using server = await listening(answer)

  const opened = connect(server.address)

  await expect(opened).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining(named) })
  expect(server.methods).toEqual(['server/discover'])
})

test('a session in a version that nobody here speaks is refused by name', async () => {
  await using server = await listening((heard) => result(heard, { protocolVersion: '1999-01-01' }))

  const opened = connect(server.address)

  await expect(opened).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining('1999-01-01') })
})

test.each([
  [401, 'credentials-rejected'],
  [403, 'credentials-rejected'],
  [404, 'repository-not-found'],
  [429, 'rate-limited'],
  [500, 'source-unreachable'],
])('a host that answers %i is %s', async (status, code) => {
  await using server = await listening(({ response }) => response.writeHead(status).end())

  await expect(connect(server.address)).rejects.toMatchObject({ name: 'SyncError', code })
})

test.each([
  [401, 'credentials-rejected'],
  [503, 'source-unreachable'],
])('a host that answers %i is heard as that, whatever else it says', async (status, code) => {
  await using server = await modern((heard) => error(heard, -32603, undefined, status))
  await using connection = await connect(server.address)

  await expect(connection.request('x/y', {}, NEVER)).rejects.toMatchObject({ name: 'SyncError', code })
})

test('a web page is not taken for a server', async () => {
  await using server = await listening(({ response }) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  )

  await expect(connect(server.address)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('a web page, not an MCP server'),
  })
})

test('a host that is not there is unreachable, and the query of its address is not told', async () => {
  const gone = await listening(() => {})
  await gone[Symbol.asyncDispose]()

  const opened = connect({ kind: 'http', url: `${gone.address.url}?key=hidden` })

  await expect(opened).rejects.toMatchObject({ code: 'source-unreachable' })
  await expect(opened).rejects.not.toMatchObject({ message: expect.stringContaining('hidden') })
})

test.each([
  [404, -32601],
  [400, -32602],
  [200, -32002],
])('an error of JSON-RPC that comes with %i is an answer', async (status, code) => {
  await using server = await modern((heard) => error(heard, code, { uri: SKILL }, status))
  await using connection = await connect(server.address)

  const reply = await connection.request('resources/read', { uri: SKILL }, NEVER)

  expect(reply).toEqual({ ok: false, code, message: 'no', data: { uri: SKILL } })
})

test.each([
  ['input_required', 'requests input first'],
  ['novel', '"novel"'],
])('a result of the type %s is refused, and not asked for again', async (resultType, why) => {
  await using server = await modern((heard) => result(heard, { resultType, requestState: 's', inputRequests: {} }))
  await using connection = await connect(server.address)

  const asked = connection.request('resources/read', { uri: SKILL }, NEVER)

  await expect(asked).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining(why) })
  expect(server.methods).toEqual(['server/discover', 'resources/read'])
})

test('the credential is read anew for each request, and sent to the own origin alone', async () => {
  await using other = await listening((heard) => result(heard, {}))
  await using server = await modern(({ body, response }) => {
    const to = body.method === 'x/near' ? '/elsewhere' : other.address.url
    response.writeHead(307, { location: to }).end()
  })
  let read = 0
  await using connection = await connect(server.address, {}, async () => ({
    headers: { authorization: `Bearer ${(read += 1)}` },
    route: { ca: undefined, proxy: undefined },
  }))

  const far = connection.request('x/far', {}, NEVER)
  await expect(far).rejects.toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('redirect') })
  await connection.request('x/near', {}, NEVER, 1_000).catch(() => {})

  expect(other.heard).toEqual([])
  const sent = server.heard.map(({ path, headers }) => [path, headers.authorization])
  expect(sent.slice(0, 4)).toEqual([
    ['/mcp', 'Bearer 1'],
    ['/mcp', 'Bearer 2'],
    ['/mcp', 'Bearer 3'],
    ['/elsewhere', 'Bearer 4'],
  ])
})

test('a packed answer, which nobody asked for, is not unpacked', async () => {
  await using server = await modern((heard) => result(heard, {}, { 'content-encoding': 'gzip' }))
  await using connection = await connect(server.address)

  const asked = connection.request('x/y', {}, NEVER)

  await expect(asked).rejects.toMatchObject({ message: expect.stringContaining('encoding that was not asked for') })
})

const LONG = 'x'.repeat(200_000)

test.each(['application/json', 'text/event-stream'])('an answer over the cap as %s fails alone', async (type) => {
  await using server = await modern((heard) => {
    const message = JSON.stringify({ jsonrpc: '2.0', id: heard.body.id, result: { text: LONG } })
    if (heard.body.method === 'x/short') return result(heard, {})
    heard.response
      .writeHead(200, { 'content-type': type })
      .end(type === 'application/json' ? message : `data: ${message}\n\n`)
  })
  await using connection = await connect(server.address, { answerBytes: 100_000 })

  const [long, short] = await Promise.allSettled([
    connection.request('x/long', {}, NEVER),
    connection.request('x/short', {}, NEVER),
  ])

  expect(long).toMatchObject({ reason: { code: 'limit-exceeded' } })
  expect(short).toEqual({ status: 'fulfilled', value: { ok: true, result: {} } })
})

test.each(['application/json', 'text/event-stream'])('a file of 16 MiB comes whole as %s', async (type) => {
  const blob = Buffer.alloc(2 ** 24, 7).toString('base64')
  await using server = await modern((heard) => {
    const message = JSON.stringify({ jsonrpc: '2.0', id: heard.body.id, result: { contents: [{ blob }] } })
    heard.response
      .writeHead(200, { 'content-type': type })
      .end(type === 'application/json' ? message : `data: ${message}\n\n`)
  })
  await using connection = await connect(server.address)

  const read: any = await connection.request('resources/read', { uri: SKILL }, NEVER)

  expect(read.result.contents[0].blob).toBe(blob)
})

test('an answer that never comes to its end is given up in time, and holds up no other', async () => {
  await using server = await modern((heard) => {
    if (heard.body.method === 'x/quick') return result(heard, {})
    heard.response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => heard.response.write(' '), 20)
    heard.response.once('close', () => clearInterval(drip))
  })
  await using connection = await connect(server.address)

  const slow = connection.request('x/slow', {}, NEVER, 1_000)
  const quick = connection.request('x/quick', {}, NEVER)

  await expect(quick).resolves.toEqual({ ok: true, result: {} })
  await expect(slow).rejects.toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('1000 ms') })
  await expect(connection.request('x/quick', {}, NEVER)).resolves.toMatchObject({ ok: true })
})

test('an answer that stops in the middle is given up when nothing more comes', async () => {
  await using server = await modern(({ response }) =>
    response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
  )
  await using connection = await connect(server.address, { idleMs: 200 })

  const asked = connection.request('x/y', {}, NEVER)

  await expect(asked).rejects.toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('200 ms') })
})

test('an answer with an id that is not ours is nobody’s, and the next request is answered', async () => {
  await using server = await legacy((heard) => {
    if (heard.body.method !== 'skills/list') return result(heard, { resources: [] })
    say(heard, { jsonrpc: '2.0', id: '', error: { code: -32600, message: 'no' } })
  })
  await using connection = await connect(server.address)

  const asked = connection.request('skills/list', {}, NEVER, 500)

  await expect(asked).rejects.toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('500 ms') })
  await expect(connection.request('resources/list', {}, NEVER)).resolves.toMatchObject({ ok: true })
})

test('a request that is given up is taken back in the legacy era', async () => {
  const told = Promise.withResolvers<Heard>()
  await using server = await listening((heard) => {
    const { body, response } = heard
    if (body?.method === 'server/discover') return error(heard, -32601)
    if (body?.method === 'initialize') return result(heard, { protocolVersion: '2025-06-18' })
    if (body?.method === 'notifications/cancelled') told.resolve(heard)
    if (body?.method !== 'x/y') response.writeHead(202).end()
  })
  await using connection = await connect(server.address)
  const given = new AbortController()

  const asked = connection.request('x/y', {}, given.signal)
  given.abort(new Error('enough'))

  await expect(asked).rejects.toThrow('enough')
  expect((await told.promise).body.params).toMatchObject({ requestId: expect.any(Number) })
})

test('a session that the server no longer knows is the end of the connection', async () => {
  await using server = await legacy((heard) =>
    say(heard, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'no' } }, 404),
  )
  await using connection = await connect(server.address)

  const asked = connection.request('resources/list', {}, NEVER)

  await expect(asked).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('session is over'),
  })
  await connection.ended
  await expect(connection.request('resources/list', {}, NEVER)).rejects.toMatchObject({ code: 'source-unreachable' })
})

test('a method that a session does not know is an answer, though it comes with 404', async () => {
  await using server = await legacy((heard) => error(heard, -32601, undefined, 404))
  await using connection = await connect(server.address)

  await expect(connection.request('skills/list', {}, NEVER)).resolves.toMatchObject({ ok: false, code: -32601 })
})

test('what a server asks of us is refused, but whether we are there', async () => {
  const answers = new Map<string, unknown>()
  const answered = Promise.withResolvers<void>()
  await using server = await listening((heard) => {
    const { response, body } = heard
    if (body?.method === 'server/discover') return error(heard, -32601)
    if (body?.method === 'initialize') return result(heard, { protocolVersion: '2025-03-26' })
    if (body?.method !== 'x/y') {
      if (typeof body?.id === 'string') answers.set(body.id, body)
      if (answers.size === 3) answered.resolve()
      return response.writeHead(202).end()
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [id, method] of Object.entries({ a: 'sampling/createMessage', b: 'ping', c: 'roots/list' })) {
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, method, params: {} })}\n\n`)
    }
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result: {} })}\n\n`)
  })
  await using connection = await connect(server.address)

  await connection.request('x/y', {}, NEVER)
  await answered.promise

  expect(Object.fromEntries(answers)).toEqual({
    a: { jsonrpc: '2.0', id: 'a', error: { code: -32601, message: 'Method not found' } },
    b: { jsonrpc: '2.0', id: 'b', result: {} },
    c: { jsonrpc: '2.0', id: 'c', error: { code: -32601, message: 'Method not found' } },
  })
})

test('an answer that is cut in the legacy era, and may be gone on with, is', async () => {
  await using server = await listening((heard) => {
    const { http, body, headers, response } = heard
    if (body?.method === 'server/discover') return error(heard, -32601)
    if (body?.method === 'initialize') return result(heard, { protocolVersion: '2025-11-25' })
    if (headers['last-event-id'] === undefined && http === 'GET') return response.writeHead(405).end()
    if (body?.id === undefined && http === 'POST') return response.writeHead(202).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (http === 'POST') return response.end(`id: cut-${body.id}\nretry: 0\ndata:\n\n`)
    const id = Number(String(headers['last-event-id']).slice('cut-'.length))
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { went: 'on' } })}\n\n`)
  })
  await using connection = await connect(server.address)

  await expect(connection.request('x/y', {}, NEVER)).resolves.toEqual({ ok: true, result: { went: 'on' } })
})

test('a session is closed with the connection', async () => {
  await using server = await legacy(() => {})
  const connection = await connect(server.address)

  await connection[Symbol.asyncDispose]()

  const { http, headers } = server.heard.at(-1)!
  expect([http, headers['mcp-session-id']]).toEqual(['DELETE', 'one'])
  await connection.ended
})
