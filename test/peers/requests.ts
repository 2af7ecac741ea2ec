import * as fc from 'fast-check'
import { INITIALIZE, LEGACY_REVISION } from '../conformance/exchange.ts'
import { META, REVISION, modernHeaders } from '../support/clients/peer.ts'

/** One request as it goes to both servers, but for what only one of them knows: the id of a session. */
export interface Asked {
  readonly title: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text as it is; anything else as JSON. */
  readonly body?: unknown
  /** The session that it names: one that is there, one that was ended, or one that never was. */
  readonly session?: 'open' | 'ended' | 'unknown'
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A complete request of 2026-07-28. */
export function modern(method: string, params: object = {}): Asked {
  const body = { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: META } }
  const name = 'name' in params ? { 'mcp-name': String(params.name) } : {}
  const headers = { ...modernHeaders(method, params), ...name }
  return { title: `modern ${method} ${JSON.stringify(params)}`, headers, body }
}

/** A complete request of the 2025 era, in a session. */
export function legacy(method: string, params?: object): Asked {
  return {
    title: `legacy ${method} ${JSON.stringify(params)}`,
    headers: { ...JSON_HEADERS, 'mcp-protocol-version': LEGACY_REVISION },
    body: { jsonrpc: '2.0', id: 7, method, ...(params !== undefined && { params }) },
    session: 'open',
  }
}

/** The request with other headers; one that is undefined is left out. */
function under(title: string, asked: Asked, headers: Readonly<Record<string, string | undefined>>): Asked {
  const all = Object.entries({ ...asked.headers, ...headers })
  const given = all.filter((header): header is [string, string] => header[1] !== undefined)
  return { ...asked, title: `${asked.title}, ${title}`, headers: Object.fromEntries(given) }
}

/** The request with something else in its body. */
function but(title: string, asked: Asked, change: object): Asked {
  return { ...asked, title: `${asked.title}, ${title}`, body: { ...(asked.body as object), ...change } }
}

const meta = (change: object): object => ({ params: { _meta: { ...META, ...change } } })
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

export const FILES = { type: 'ref/resource', uri: 'skill://fx/{+path}' }
const SKILL = 'skill://fx/alpha/SKILL.md'
export const METHODS: readonly (readonly [string, object])[] = [
  ['skills/list', {}],
  ['skills/list', { cursor: '' }],
  ['skills/list', { cursor: 'nonsense' }],
  ['skills/list', { cursor: 7 }],
  ['skills/get', { uri: SKILL }],
  ['skills/get', { uri: 'skill://fx/alpha' }],
  ['skills/get', { uri: 'skill://fx/none/SKILL.md' }],
  ['skills/get', { uri: 'skill://fx/alpha/../beta/SKILL.md' }],
  ['skills/get', { uri: 7 }],
  ['skills/get', {}],
  ['resources/directory/read', { uri: 'skill://fx/alpha' }],
  ['resources/directory/read', { uri: 'skill://fx/alpha/' }],
  ['resources/directory/read', { uri: 'skill://fx' }],
  ['resources/directory/read', { uri: SKILL }],
  ['resources/directory/read', { uri: 'skill://fx/none' }],
  ['resources/directory/read', { uri: 'skill://fx/alpha', cursor: 'nonsense' }],
  ['resources/directory/read', {}],
  ['resources/list', {}],
  ['resources/list', { cursor: 'nonsense' }],
  ['resources/list', { cursor: 7 }],
  ['resources/templates/list', {}],
  ['resources/templates/list', { cursor: 'nonsense' }],
  ['resources/read', { uri: SKILL }],
  ['resources/read', { uri: 'skill://fx/alpha/a b.bin' }],
  ['resources/read', { uri: 'skill://fx/alpha/a%20b.bin' }],
  ['resources/read', { uri: 'skill://fx/alpha/ünï.md' }],
  ['resources/read', { uri: 'skill://fx/alpha/empty.txt' }],
  ['resources/read', { uri: 'skill://fx/alpha' }],
  ['resources/read', { uri: 'skill://fx/none/SKILL.md' }],
  ['resources/read', { uri: 'skill://fx/alpha/%2e%2e/beta/SKILL.md' }],
  ['resources/read', { uri: 'test://static-text' }],
  ['resources/read', { uri: 'file:///etc/passwd' }],
  ['resources/read', { uri: '' }],
  ['resources/read', { uri: 7 }],
  ['resources/read', {}],
  ['resources/subscribe', { uri: SKILL }],
  ['resources/subscribe', { uri: 'skill://fx/none/SKILL.md' }],
  ['resources/subscribe', {}],
  ['resources/unsubscribe', { uri: SKILL }],
  ['resources/unsubscribe', { uri: 'skill://fx/none/SKILL.md' }],
  ['resources/unsubscribe', {}],
  ['tools/list', {}],
  ['tools/call', { name: 'test_simple_text' }],
  ['tools/call', { name: 'test_error_handling', arguments: {} }],
  ['tools/call', { name: 'test_missing_capability' }],
  ['tools/call', { name: 'none' }],
  ['tools/call', { name: 'list_skills' }],
  ['tools/call', { name: 'list_skills', arguments: 7 }],
  ['tools/call', { name: 'get_skill', arguments: { id: 'alpha' } }],
  ['tools/call', { name: 'get_skill', arguments: { id: 'none' } }],
  ['tools/call', { name: 'get_skill', arguments: {} }],
  ['tools/call', {}],
  ['prompts/list', {}],
  ['prompts/get', { name: 'test_simple_prompt' }],
  ['prompts/get', { name: 'none' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'test_simple_prompt' }, argument: { name: 'a', value: 'b' } },
  ],
  ['completion/complete', { ref: FILES, argument: { name: 'path', value: 'alpha/' } }],
  ['completion/complete', { ref: FILES, argument: { name: 'none', value: '' } }],
  ['completion/complete', { ref: FILES, argument: { name: 'path' } }],
  ['completion/complete', { ref: { ...FILES, uri: 'skill://none/{+path}' }, argument: { name: 'path', value: '' } }],
  ['completion/complete', {}],
  ['server/discover', {}],
  ['subscriptions/listen', {}],
  ['subscriptions/listen', { notifications: 7 }],
  ['subscriptions/listen', { notifications: {} }],
  ['subscriptions/listen', { notifications: { resourceSubscriptions: 'all' } }],
  ['ping', {}],
  ['logging/setLevel', { level: 'info' }],
  ['initialize', INITIALIZE],
  ['no/such/method', {}],
  ['', {}],
  ['__proto__', {}],
  ['constructor', {}],
]

const LIST = modern('skills/list')
const READ = modern('resources/read', { uri: SKILL })
const OLD_LIST = legacy('skills/list')
const { session: _, ...OUTSIDE } = OLD_LIST
const OPENING: Asked = {
  title: 'initialize',
  headers: JSON_HEADERS,
  body: { jsonrpc: '2.0', id: 7, method: 'initialize', params: INITIALIZE },
}

const ENVELOPES: readonly (readonly [string, object])[] = [
  ['no id', { id: undefined }],
  ['id null', { id: null }],
  ['id text', { id: 'seven' }],
  ['id empty', { id: '' }],
  ['id fractional', { id: 1.5 }],
  ['id an object', { id: {} }],
  ['id true', { id: true }],
  ['another JSON-RPC', { jsonrpc: '1.0' }],
  ['no JSON-RPC', { jsonrpc: undefined }],
  ['no method', { method: undefined }],
  ['method a number', { method: 7 }],
  ['a field too many', { more: true }],
  ['a result besides', { result: {} }],
]

const BROKEN_HEADERS: readonly Readonly<Record<string, string | undefined>>[] = [
  { 'content-type': undefined },
  { accept: 'text/html' },
  { 'mcp-protocol-version': undefined },
  { 'mcp-protocol-version': LEGACY_REVISION },
  { 'mcp-protocol-version': REVISION },
  { 'mcp-protocol-version': '2024-11-05' },
  { 'mcp-protocol-version': 'none' },
  { 'mcp-method': undefined },
  { 'mcp-method': 'skills/get' },
  { 'mcp-name': undefined },
  { 'mcp-name': 'x' },
  { 'mcp-name': '=?base64?eA=?=' },
  { host: 'evil.example' },
  { origin: 'https://evil.example' },
]

/** Requests that nobody thought of: any method with any params, in an envelope and under headers that may be broken. */
export const ANY_REQUEST: fc.Arbitrary<Asked> = fc
  .record({
    era: fc.constantFrom(modern, legacy),
    asked: fc.oneof(
      fc.constantFrom(...METHODS),
      fc.tuple(fc.oneof(fc.constantFrom(...METHODS.map(([method]) => method)), fc.string()), fc.constant({})),
    ),
    others: fc.oneof(
      fc.constant({}),
      fc.dictionary(fc.constantFrom('uri', 'cursor', 'name', 'arguments', 'more'), fc.jsonValue({ maxDepth: 2 })),
      fc.record({
        uri: fc.oneof(
          fc.webUrl(),
          fc.string().map((path) => `skill://fx/alpha/${path}`),
        ),
      }),
    ),
    envelope: fc.oneof(
      { weight: 3, arbitrary: fc.constant({}) },
      fc.constantFrom(...ENVELOPES.map(([, change]) => change)),
    ),
    headers: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, fc.constantFrom(...BROKEN_HEADERS)),
    session: fc.oneof(
      { weight: 3, arbitrary: fc.constant('open' as const) },
      fc.constantFrom('ended' as const, 'unknown' as const, undefined),
    ),
  })
  .map((drawn) => requestOf(drawn))

function requestOf({ era, asked: [method, params], others, envelope, headers, session }: Drawn): Asked {
  const { session: named, ...request } = under('', but('', era(method, { ...params, ...others }), envelope), headers)
  const isNamed = named !== undefined && session !== undefined
  return { ...request, title: 'any request', ...(isNamed && { session }) }
}

interface Drawn {
  readonly era: typeof modern | typeof legacy
  readonly asked: readonly [string, object]
  readonly others: object
  readonly envelope: object
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly session: Asked['session'] | undefined
}

/** Both eras, valid and not: what a server may be asked. */
export const CORPUS: readonly Asked[] = [
  ...METHODS.map(([method, params]) => modern(method, params)),
  ...METHODS.map(([method, params]) => legacy(method, params)),
  legacy('skills/list'),
  legacy('ping'),
  ...ENVELOPES.flatMap(([title, change]) => [
    but(title, LIST, change),
    but(title, OLD_LIST, change),
    but(title, OPENING, change),
  ]),
  ...[[], 7, 'text', null].flatMap((params) => [
    but(`params ${JSON.stringify(params)}`, LIST, { params }),
    but(`params ${JSON.stringify(params)}`, OLD_LIST, { params }),
  ]),
  but('no params', LIST, { params: undefined }),

  but('no _meta', LIST, { params: {} }),
  but('_meta null', LIST, { params: { _meta: null } }),
  but('no version', LIST, meta({ [VERSION_KEY]: undefined })),
  but('version a number', LIST, meta({ [VERSION_KEY]: 7 })),
  but(
    'an unknown version',
    under('header as well', LIST, { 'mcp-protocol-version': '2099-01-01' }),
    meta({ [VERSION_KEY]: '2099-01-01' }),
  ),
  but(
    'a version of the 2025 era',
    under('header as well', LIST, { 'mcp-protocol-version': LEGACY_REVISION }),
    meta({ [VERSION_KEY]: LEGACY_REVISION }),
  ),
  but('no capabilities', LIST, meta({ 'io.modelcontextprotocol/clientCapabilities': undefined })),
  but('capabilities a list', LIST, meta({ 'io.modelcontextprotocol/clientCapabilities': [] })),
  but('no client', LIST, meta({ 'io.modelcontextprotocol/clientInfo': undefined })),
  but('client text', LIST, meta({ 'io.modelcontextprotocol/clientInfo': 'me' })),
  but('a log level', LIST, meta({ 'io.modelcontextprotocol/logLevel': 'debug' })),
  but('an unknown log level', LIST, meta({ 'io.modelcontextprotocol/logLevel': 'loud' })),

  under('no version', LIST, { 'mcp-protocol-version': undefined }),
  under('another version', LIST, { 'mcp-protocol-version': LEGACY_REVISION }),
  under('an unknown version', LIST, { 'mcp-protocol-version': '2099-01-01' }),
  under('no method', LIST, { 'mcp-method': undefined }),
  under('another method', LIST, { 'mcp-method': 'skills/get' }),
  under('method in capitals', LIST, { 'mcp-method': 'SKILLS/LIST' }),
  under('a name too many', LIST, { 'mcp-name': 'x' }),
  under('no name', READ, { 'mcp-name': undefined }),
  under('another name', READ, { 'mcp-name': 'skill://fx/beta/SKILL.md' }),
  under('the name in base64', READ, { 'mcp-name': `=?base64?${Buffer.from(SKILL).toString('base64')}?=` }),
  under('the name in bad base64', READ, { 'mcp-name': '=?base64?*?=' }),
  under('a name in bad base64', modern('resources/read'), { 'mcp-name': '=?base64?*?=' }),
  under('a session', LIST, { 'mcp-session-id': 'x' }),
  but('a modern header on the 2025 era', under('', OLD_LIST, { 'mcp-protocol-version': REVISION }), {}),

  ...[undefined, 'text/plain', 'application/json; charset=utf-8', 'Application/JSON', 'application/jsonp'].flatMap(
    (type) => [LIST, OLD_LIST, OPENING].map((asked) => under(`type ${type}`, asked, { 'content-type': type })),
  ),
  ...[undefined, '*/*', 'application/json', 'text/event-stream', 'text/html'].flatMap((accept) =>
    [LIST, OLD_LIST, OPENING].map((asked) => under(`accept ${accept}`, asked, { accept })),
  ),
  ...['evil.example', 'localhost', '127.0.0.1:9'].map((host) => under(`host ${host}`, LIST, { host })),
  ...['http://evil.example', 'http://localhost:9', 'null'].map((origin) => under(`origin ${origin}`, LIST, { origin })),

  ...['', '{', 'null', '7', '"text"', 'true', '[]', '{}', '[1]', '\u{FEFF}{}'].flatMap((body) => [
    { ...LIST, title: `modern, the body ${body}`, body },
    { ...OLD_LIST, title: `legacy, the body ${body}`, body },
  ]),

  OPENING,
  ...['2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07', REVISION, '2099-01-01', ''].map((protocolVersion) =>
    but(protocolVersion, OPENING, { params: { ...INITIALIZE, protocolVersion } }),
  ),
  but('no client', OPENING, { params: { ...INITIALIZE, clientInfo: undefined } }),
  but('no params', OPENING, { params: undefined }),
  { ...OPENING, title: 'initialize in a session that never was', session: 'unknown' },
  { ...legacy('initialize', {}), title: 'initialize without params in a session' },

  { ...OUTSIDE, title: 'legacy, no session' },
  { ...OLD_LIST, title: 'legacy, an unknown session', session: 'unknown' },
  { ...OLD_LIST, title: 'legacy, an ended session', session: 'ended' },
  under('no version', OLD_LIST, { 'mcp-protocol-version': undefined }),
  under('an older version', OLD_LIST, { 'mcp-protocol-version': '2025-06-18' }),
  under('an unknown version', OLD_LIST, { 'mcp-protocol-version': '2099-01-01' }),

  ...['notifications/initialized', 'notifications/cancelled', 'notifications/no/such', 'skills/list'].flatMap(
    (method) => [
      { ...legacy(method), title: `legacy notification ${method}`, body: { jsonrpc: '2.0', method } },
      {
        ...modern(method),
        title: `modern notification ${method}`,
        body: { jsonrpc: '2.0', method, params: { _meta: META } },
      },
    ],
  ),
  { ...OLD_LIST, title: 'legacy, an answer to nothing', body: { jsonrpc: '2.0', id: 1, result: {} } },
  { ...LIST, title: 'modern, an answer to nothing', body: { jsonrpc: '2.0', id: 1, result: {} } },
  {
    ...OLD_LIST,
    title: 'legacy, a batch',
    body: [
      { ...(OLD_LIST.body as object), id: 1 },
      { jsonrpc: '2.0', id: 2, method: 'ping' },
    ],
  },
  { ...OLD_LIST, title: 'legacy, a batch of one', body: [OLD_LIST.body] },
  {
    ...OLD_LIST,
    title: 'legacy, a batch of notifications',
    body: [{ jsonrpc: '2.0', method: 'notifications/initialized' }],
  },
  { ...OLD_LIST, title: 'legacy, a batch with what is none', body: [OLD_LIST.body, 7] },
  { ...OLD_LIST, title: 'legacy, a batch with initialize', body: [OPENING.body] },
  { ...LIST, title: 'modern, a batch', body: [LIST.body] },

  ...['GET', 'DELETE'].flatMap((method): Asked[] => [
    { title: `${method} without a session`, method, headers: { accept: 'text/event-stream' } },
    { title: `${method} of an unknown session`, method, headers: { accept: 'text/event-stream' }, session: 'unknown' },
    { title: `${method} of an ended session`, method, headers: { accept: 'text/event-stream' }, session: 'ended' },
  ]),
  { title: 'GET that takes no stream', method: 'GET', headers: { accept: 'application/json' }, session: 'open' },
  ...['PUT', 'PATCH', 'OPTIONS', 'HEAD'].map((method): Asked => ({ title: method, method, headers: JSON_HEADERS })),
]
