import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Serving } from '../../src/serve/mcp/core/methods.ts'
import { INTERNAL_ERROR } from '../../src/serve/mcp/rpc/rpc-error.ts'
import type { PageHost } from '../../src/serve/page/page-data.ts'
import { Registry } from '../../src/serve/registry.ts'
import { serveHttp } from '../../src/serve/site/server.ts'
import type { HttpOptions, HttpServer } from '../../src/serve/site/server.ts'
import { formsOf } from '../support/clients/forms.ts'
import { META, modernHeaders } from '../support/clients/peer.ts'
import { catalogOf } from '../sync/catalog/catalogs.ts'
import { sample, snapshotOf } from '../sync/store/samples.ts'
import { expect, refuse } from './target.ts'
import type { Target } from './target.ts'

/** Readers of what clients send, behind a real server: bodies of both eras, and whole requests. */
export const MESSAGES = {
  message: (bytes) => post(bytes, async (url) => ({ ...LEGACY_HEADERS, 'mcp-session-id': await sessionAt(url) })),
  'modern-message': (bytes) => post(bytes, async () => modernHeadersOf(jsonIn(bytes.toString('utf8')))),
  request: async (bytes) => {
    await using scene = await open()
    const socket = connect(Number(new URL(scene.http.url).port), '127.0.0.1')
    // A server that refuses a request may close the connection before it has read all of it.
    socket.on('error', () => {})
    const answer = text(socket).catch(() => '')
    socket.end(bytes)
    const answered = await answer
    socket.destroy()
    const statuses = Array.from(answered.matchAll(/^HTTP\/1\.1 (\d{3}) /gm), ([, status]) => Number(status))
    expect(answered === '' || answered.startsWith('HTTP/1.1 '), 'what is answered is no answer')
    scene.expectSound(statuses)
    if (!statuses.some((status) => status < 400)) refuse('no answer to it is a good one')
  },
} as const satisfies Readonly<Record<string, Target>>

type Headers = Readonly<Record<string, string>>

async function post(body: Buffer, headersAt: (url: string) => Promise<Headers>): Promise<void> {
  await using scene = await open()
  const url = `${scene.http.url}/mcp`
  const response = await fetch(url, { method: 'POST', headers: await headersAt(url), body: new Uint8Array(body) })
  const answer = await response.text()
  scene.expectSound([response.status])
  const asked = idsIn(jsonIn(body.toString('utf8')))
  const answers = answersIn(answer)
  for (const { jsonrpc, id, error } of answers) {
    expect(jsonrpc === '2.0', 'an answer is not of JSON-RPC')
    expect(id === null || id === undefined || asked.has(id), 'an answer is to what was not asked')
    expect(codeOf(error) !== INTERNAL_ERROR, `an answer is the error ${JSON.stringify(error)}`)
  }
  if (!response.ok || answers.some(({ error }) => error !== undefined)) refuse(`${response.status} ${answer}`)
}

async function sessionAt(url: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: LEGACY_HEADERS, body: INITIALIZE })
  await response.text()
  return response.headers.get('mcp-session-id') ?? ''
}

async function open() {
  const errors: unknown[] = []
  const http = await serveHttp(SERVING, { ...OPTIONS, onError: (error) => errors.push(error) })
  return {
    http,
    expectSound(statuses: readonly number[]): void {
      if (errors.length > 0) throw new Error('The server met an error', { cause: errors[0] })
      expect(
        statuses.every((status) => status < 500),
        `the server answers ${statuses.join(', ')}`,
      )
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  } satisfies AsyncDisposable & { readonly http: HttpServer; readonly expectSound: unknown }
}

const SKILL = sample('tidy', { 'SKILL.md': '---\nname: tidy\ndescription: A sample\n---\n# Tidy\n', 'a/b.txt': 'b' })

const SERVING: Serving = {
  registry: registryOf(),
  read: async (_stored, { path }) => SKILL.bytes.get(path),
  forms: formsOf(),
  pages: { entries: 100, bytes: 2 ** 20 },
  cache: { ttlMs: 0, cacheScope: 'public' },
}

function registryOf(): Registry {
  const registry = new Registry()
  registry.publish(catalogOf(snapshotOf(SKILL)))
  return registry
}

const NO_HOST: PageHost = {
  clean: (text) => text,
  now: () => new Date(0),
  isTokenRequired: false,
  sources: () => [],
  problems: () => [],
  scanFindings: () => [],
  items: () => [],
  misfits: () => [],
  packBudgets: {},
  decisions: () => [],
  lastChanges: async () => new Map(),
  history: async () => [],
  compare: async () => undefined,
  pending: async () => undefined,
}

const OPTIONS: Omit<HttpOptions, 'onError'> = {
  host: '127.0.0.1',
  port: 0,
  limits: {
    headersMs: 10_000,
    requestMs: 30_000,
    connections: 20,
    bodyBytes: 4_096,
    streams: 10,
    keepAliveMs: 60_000,
    sessions: { sessions: 10, idleMs: 60_000 },
  },
  now: () => 0,
  access: { isTokenRequired: false, authenticate: async () => undefined },
  web: { wellKnown: true, page: { title: 'Skills', host: NO_HOST }, open: new Set() },
}

const LEGACY_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** As a client sends them that means what it says in the body, so that more than the headers is read. */
function modernHeadersOf(message: unknown): Record<string, string> {
  const { method, params } = membersOf(message)
  return modernHeaders(typeof method === 'string' && /^[\x21-\x7e]+$/.test(method) ? method : 'none', params)
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function idsIn(message: unknown): ReadonlySet<unknown> {
  const messages: readonly unknown[] = Array.isArray(message) ? message : [message]
  return new Set(messages.map((one) => membersOf(one)['id']))
}

/** One answer or those of a batch, as JSON or as events. */
function answersIn(answer: string): readonly Readonly<Record<string, unknown>>[] {
  const events = Array.from(answer.matchAll(/^data: (\{.*)$/gm), ([, data = '']) => data)
  const texts = events.length > 0 ? events : answer === '' ? [] : [answer]
  return texts.flatMap((one) => JSON.parse(one)).map(membersOf)
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function codeOf(error: unknown): unknown {
  return membersOf(error)['code']
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } },
})

function request(id: string | number, method: string, params?: object): object {
  return { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) }
}

const URI = 'skill://team/tidy/SKILL.md'
const ASKED: readonly (readonly [string, object])[] = [
  ['resources/read', { uri: URI }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['skills/list', {}],
]
const MODERN = ASKED.map(([method, params], id) => JSON.stringify(request(id, method, { ...params, _meta: META })))

/** A request as it goes over the wire. */
function wire(line: string, headers: readonly string[], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')
}

const PING = JSON.stringify(request(7, 'ping'))
const POST_HEADERS = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']

/** What clients send that mean well. */
export const MESSAGE_SEEDS: Readonly<Record<keyof typeof MESSAGES, readonly string[]>> = {
  message: [
    PING,
    ...ASKED.slice(0, 4).map(([method, params], id) => JSON.stringify(request(`id-${id}`, method, params))),
    JSON.stringify([
      request(1, 'ping'),
      request('two', 'resources/list'),
      { jsonrpc: '2.0', method: 'notifications/x' },
    ]),
  ],
  'modern-message': MODERN,
  request: [
    wire('POST /mcp', [...POST_HEADERS, `Content-Length: ${INITIALIZE.length}`], INITIALIZE),
    wire(
      'POST /mcp',
      [...POST_HEADERS, 'Transfer-Encoding: chunked'],
      `${INITIALIZE.length.toString(16)}\r\n${INITIALIZE}\r\n0\r\n\r\n`,
    ),
    wire('GET /healthz', ['Accept: */*']) + wire('GET /.well-known/agent-skills/index.json', ['If-None-Match: "x"']),
    wire('GET /?q=%74idy&page=2', ['Cookie: a=b; c="d"', 'Accept-Encoding: gzip', 'Origin: http://localhost']),
  ],
}
