import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { META, REVISION, legacyHttp, modernHttp } from '../support/clients/peer.ts'
import { buildFixture } from '../support/content/fixture.ts'
import type { Fixture } from '../support/content/fixture.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { EXACT, itemsOf, walkPages } from './peers.ts'

// Plain requests are not classified by the SDK, and some are answered past its core with text that is there already. So each
// request is asked twice, once with something in it that makes it less than plain: nothing may tell the two answers apart.

let fixture: Fixture
let served: Served
let session: string
/** The URIs that a listing names, and the folders that they are in. */
let uris: readonly string[]
let cursors: readonly string[]
beforeAll(async () => {
  fixture = await buildFixture()
  served = await serve(fixture.repository, { source: EXACT, config: ['limits: { listing: { entries: 3 } }'] })
  const peer = await modernHttp(served.url)
  const pages = await walkPages(peer, 'skills/list')
  cursors = pages.flatMap(({ nextCursor }) => nextCursor ?? [])
  // A few files of each skill are enough.
  const files = itemsOf(pages).flatMap(({ resources }) => resources.slice(0, 3).map(({ uri }: { uri: string }) => uri))
  uris = ['skill://index.json', ...files.flatMap((uri: string) => [uri, uri.slice(0, uri.lastIndexOf('/'))])]
  const client = await legacyHttp(served.url)
  session = client.session
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

interface Asked {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Status, headers and body, to the byte. */
async function ask({ headers, body }: Sent, url = served.url): Promise<Got> {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const { date: _, ...rest } = Object.fromEntries(response.headers)
  return { status: response.status, headers: rest, text: await response.text() }
}

/** With a param that nobody knows and, where there can be more in it, a `_meta` that is too long to be known. */
function throughTheCore({ headers, body }: Asked): Asked {
  const { params = {}, method } = body
  // That a call has no params at all is said in other words than that it lacks one.
  if (!isObject(params) || (method === 'tools/call' && body['params'] === undefined)) return { headers, body }
  const { _meta: meta = {} } = params
  // A modern request without one is told so, which is no answer to one that has it.
  const isLegacy = /^202[45]-/.test(headers['mcp-protocol-version'] ?? '2025-03-26')
  const padded = isObject(meta) && (isLegacy || meta === params['_meta'])
  return {
    headers,
    body: { ...body, params: { ...params, unknown: true, ...(padded && { _meta: { ...meta, padding: PADDING } }) } },
  }
}

const PADDING = 'x'.repeat(2_048)

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function modern(method: string, params: Record<string, unknown>, id: unknown = 1): Asked {
  const { uri } = params
  const name = method === 'resources/read' && typeof uri === 'string' && /^[\x21-\x7e]+$/.test(uri)
  return {
    headers: {
      ...JSON_HEADERS,
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name && { 'mcp-name': uri }),
    },
    body: { jsonrpc: '2.0', id, method, params: { _meta: META, ...params } },
  }
}

function legacy(method: string, params: object | undefined, id: unknown = 1): Asked {
  return {
    headers: { ...JSON_HEADERS, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' },
    body: { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) },
  }
}

test('a resource is answered with the same bytes as by the core, in both eras, asked once and again', async () => {
  for (const uri of new Set(uris)) {
    for (const method of uri.endsWith('/SKILL.md') ? ['resources/read', 'skills/get'] : ['resources/read']) {
      for (const asked of [modern(method, { uri }), legacy(method, { uri })]) {
        const expected = await ask(throughTheCore(asked))

        expect([await ask(asked), await ask(asked)]).toEqual([expected, expected])
      }
    }
  }
})

test('a batch is answered with the bytes that the core has for each of its messages', async () => {
  const listed = [undefined, ...cursors].map((cursor) => legacy('skills/list', cursor === undefined ? {} : { cursor }))
  const read = [...new Set(uris)].map((uri) => legacy('resources/read', { uri }))
  const all = [...read, ...listed, legacy('skills/get', { uri: 'skill://none/SKILL.md' }), legacy('ping', undefined)]
  const asked = all.slice(-100)

  const expected = await Promise.all(asked.map(async (each) => (await ask(throughTheCore(each))).text))
  const batch = { headers: legacy('ping', {}).headers, body: asked.map(({ body }) => body) }
  const answers = [await ask(batch), await ask(batch)]

  expect(answers.map(({ text }) => text)).toEqual(Array(2).fill(`[${expected.join(',')}]`))
})

test('who asks with a token is answered as by the core: for itself alone, and in no session of another', async () => {
  const principal = { scopes: new Set(['skills'] as const) }
  const authenticate = async (token: string) => (token === 'none' ? undefined : { id: token, ...principal })
  await using guarded = await serve(fixture.repository, {
    source: EXACT,
    access: { authenticate, isTokenRequired: true },
  })
  const opening = legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: NOBODY })
  const opened = await fetch(guarded.url, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: 'Bearer ada' },
    body: JSON.stringify(opening.body),
  })
  const ofAda = opened.headers.get('mcp-session-id') ?? ''
  const uri = uris.find((each) => each.endsWith('/SKILL.md'))!

  for (const [who, status] of [
    ['ada', 200],
    ['bob', 404],
    ['none', 401],
  ] as const) {
    const inSession = as(who, {
      headers: { ...legacy('', {}).headers, 'mcp-session-id': ofAda },
      body: legacy('resources/read', { uri }).body,
    })
    for (const asked of [inSession, as(who, modern('resources/read', { uri })), as(who, modern('skills/list', {}))]) {
      expect(await ask(asked, guarded.url)).toEqual(await ask(throughTheCore(asked), guarded.url))
    }
    expect(await ask(inSession, guarded.url)).toMatchObject({ status })
  }
  const answer = await ask(as('ada', modern('skills/get', { uri })), guarded.url)

  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"cacheScope":"private"') })
})

const NOBODY = { name: 'test', version: '1' }

function as(who: string, { headers, body }: Asked): Asked {
  return { headers: { ...headers, authorization: `Bearer ${who}` }, body }
}

test('every page is answered with the same bytes as by the core, in both eras', async () => {
  expect(cursors.length).toBeGreaterThan(3)
  for (const cursor of [undefined, ...cursors]) {
    const params = cursor === undefined ? {} : { cursor }
    for (const asked of [
      modern('skills/list', params),
      legacy('skills/list', params),
      legacy('skills/list', undefined),
    ]) {
      const expected = await ask(throughTheCore(asked))

      expect([await ask(asked), await ask(asked)]).toEqual([expected, expected])
    }
  }
})

const OTHER = fc.oneof(fc.constant(null), fc.integer(), fc.boolean(), fc.string(), fc.constant([]), fc.constant({}))

const uri = fc.oneof(
  { weight: 9, arbitrary: fc.nat().map((index) => uris[index % uris.length]) },
  fc.nat().map((index) => `${uris[index % uris.length]}/`),
  fc
    .nat()
    .map((index) =>
      uris[index % uris.length]!.replace(/[a-z](?=[^/]*$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    ),
  fc.nat().map((index) => `${uris[index % uris.length]}?x`),
  fc.constantFrom('', 'skill://', 'skill://fx', 'skill://index.json', 'SKILL.md', 'skill://fx/__proto__', '__proto__'),
  OTHER,
)

const cursor = fc.oneof(
  fc.nat().map((index) => cursors[index % cursors.length]),
  fc.nat().map((index) => cursors[0]!.replace(/\.(.*)$/, `.${(index % 40).toString(36)}`)),
  fc.nat().map((index) => cursors[0]!.replace('.', `.${'0'.repeat(index % 9)}`)),
  OTHER,
)

const method = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('resources/read', 'skills/get', 'skills/list') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('resources/list', 'resources/directory/read', 'tools/call', 'ping', 'toString'),
  },
)

/** Mostly what such a request has, at times with something else. */
const params = fc.oneof(
  { weight: 6, arbitrary: fc.record<Record<string, unknown>>({ uri }) },
  { weight: 2, arbitrary: fc.record<Record<string, unknown>>({ cursor }, { requiredKeys: [] }) },
  {
    weight: 2,
    arbitrary: fc.record<Record<string, unknown>>({ uri, cursor, more: OTHER, _meta: OTHER }, { requiredKeys: [] }),
  },
)

const id = fc.oneof(
  { weight: 3, arbitrary: fc.integer() },
  { weight: 3, arbitrary: fc.string() },
  { weight: 1, arbitrary: fc.double({ noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(null, undefined, -0, 2 ** 53, {}) },
)

const capabilities = fc.oneof(
  fc.constantFrom({}, { roots: {} }, { roots: null }, { extensions: { x: {} } }, { foreign: 1 }),
  OTHER,
)
const meta = fc
  .record(
    {
      'io.modelcontextprotocol/protocolVersion': fc.oneof(
        { weight: 8, arbitrary: fc.constant<unknown>(REVISION) },
        { weight: 1, arbitrary: fc.constantFrom<unknown>('2025-11-25', '2099-01-01', 1) },
      ),
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      'io.modelcontextprotocol/clientInfo': fc.oneof(fc.constant({ name: 'x', version: '1' }), OTHER),
      'io.modelcontextprotocol/logLevel': fc.constantFrom('info', 'loud'),
      progressToken: fc.oneof(fc.constantFrom('t', 1, 1.5), OTHER),
      traceparent: fc.string(),
    },
    { requiredKeys: ['io.modelcontextprotocol/protocolVersion'] },
  )
  .chain((meta) => fc.constantFrom<unknown>(meta, META, META, { ...META, progressToken: 1 }))

/** One header in place of the one that belongs there; undefined leaves it out. */
const header = fc.oneof(
  fc.tuple(
    fc.constant('mcp-protocol-version'),
    fc.constantFrom(undefined, REVISION, '2025-11-25', '2025-06-18', '2024-10-07', '2099-01-01', 'x'),
  ),
  fc.tuple(fc.constant('mcp-method'), fc.constantFrom(undefined, 'resources/read', 'skills/get', 'skills/list')),
  fc.tuple(
    fc.constant('mcp-name'),
    fc.oneof(
      fc.constant(undefined),
      fc.nat().map((index) => uris[index % uris.length]!),
    ),
  ),
  fc.tuple(
    fc.constant('mcp-session-id'),
    fc.oneof(
      fc.constantFrom(undefined, 'none'),
      fc.constant('').map(() => session),
    ),
  ),
)

test('no request of any shape is answered otherwise than by the core', async () => {
  const asked = fc
    .record({
      method,
      params: fc.option(params),
      id,
      meta,
      header,
      era: fc.constantFrom('modern', 'legacy'),
      odd: fc.nat(9),
    })
    .map(({ method, params, id, meta, era, ...more }) =>
      oddly(
        era === 'modern' ? modern(method, { _meta: meta, ...params }, id) : legacy(method, params ?? undefined, id),
        more,
      ),
    )

  await fc.assert(
    fc.asyncProperty(asked, async (one) => {
      const expected = await ask(throughTheCore(one))

      expect(await ask(one)).toEqual(expected)
    }),
    { numRuns: 600 },
  )
})

/** Six in ten are asked with something that is not as it should be. */
function oddly(
  { headers, body }: Asked,
  { odd, header: [name, value] }: { odd: number; header: readonly [string, string | undefined] },
): Asked {
  if (odd === 4) return { headers, body: { ...body, more: 1 } }
  if (odd === 5) return { headers, body: { ...body, jsonrpc: '1.0' } }
  if (odd > 5) return { headers, body }
  const { [name]: _, ...others } = headers
  return { headers: value === undefined ? others : { ...others, [name]: value }, body }
}
