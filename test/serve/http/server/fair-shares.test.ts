import { once } from 'node:events'
import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { AuditEvent } from '../../../../src/serve/audit.ts'
import type { AccessRules } from '../../../../src/serve/http/http-access.ts'
import { OPEN_TO_ALL } from '../../../../src/serve/http/http-access.ts'
import type { PageHost } from '../../../../src/serve/page/page-data.ts'
import { SCOPES } from '../../../../src/serve/principal.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { serveHttp } from '../../../../src/serve/site/server.ts'
import type { HttpLimits, HttpServer } from '../../../../src/serve/site/server.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { META, modernHeaders } from '../../../support/clients/peer.ts'
import { HTTP_LIMITS } from '../../../support/http/http-limits.ts'

test('one token that opens more sessions than there are places ends none of another', async () => {
  await using scene = await openScene({ sessions: { sessions: 30, idleMs: 60_000 } })
  const honest = await scene.session('ada')

  for (let index = 0; index < 100; index += 1) await scene.session('mallory')

  expect(await scene.statusIn(honest, 'ada')).toBe(200)
  expect(scene.http.counts().sessions).toBe(30)
})

test('one address without a token that opens more sessions than there are places ends none of another', async () => {
  await using scene = await openScene({ sessions: { sessions: 30, idleMs: 60_000 } }, OPEN_TO_ALL)
  const honest = await scene.session(undefined, '127.0.0.2')

  for (let index = 0; index < 100; index += 1) await scene.session(undefined, '127.0.0.3')

  expect(await scene.statusIn(honest, undefined, '127.0.0.2')).toBe(200)
})

test('one token that opens every stream leaves one to another, of either era and of the page, and is refused more itself', async () => {
  await using scene = await openScene({ streams: 4 })
  const hostile = await Promise.all([1, 2, 3, 4].map(() => scene.listen('mallory')))

  const refused = await scene.listen('mallory')
  const listening = await scene.listen('ada')
  const session = await scene.session('bob')
  const inSession = await scene.open('GET', '/mcp', { ...bearer('bob'), 'mcp-session-id': session })
  const page = await scene.open('GET', '/events', await scene.signIn('carol'))

  expect(hostile.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect([refused.status, refused.retryAfter]).toEqual([503, '30'])
  expect([listening, inSession, page].map(({ status }) => status)).toEqual([200, 200, 200])
  expect(scene.http.counts().streams).toBe(4)
  expect(await hostile[0]!.text()).toContain('"resultType":"complete"')
  expect(scene.audited.find(({ allowed }) => !allowed)).toMatchObject({
    principal: 'mallory',
    why: 'All streams are open, and this client has its share of them: close one, and try again',
  })
})

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

const TOKENS: AccessRules = {
  isTokenRequired: true,
  authenticate: async (token) => ({ id: token, scopes: new Set(SCOPES) }),
}

interface Opened {
  readonly status: number | undefined
  readonly retryAfter: string | undefined
  readonly headers: IncomingMessage['headers']
  text(): Promise<string>
}

async function openScene(limits: Partial<HttpLimits>, access = TOKENS) {
  const audited: AuditEvent[] = []
  const requests: ClientRequest[] = []
  const http: HttpServer = await serveHttp(
    {
      registry: new Registry(),
      read: async () => undefined,
      forms: formsOf(),
      pages: { entries: 100, bytes: 2 ** 20 },
      cache: { ttlMs: 0, cacheScope: 'public' },
      audit: (event) => audited.push(event),
    },
    {
      host: '127.0.0.1',
      port: 0,
      limits: { ...HTTP_LIMITS, ...limits },
      now: () => 0,
      access,
      web: { wellKnown: false, page: { title: 'Skills', host: NO_HOST }, open: new Set() },
      onError: (error) => {
        throw error
      },
    },
  )
  const open = async (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    { body, from }: { readonly body?: string; readonly from?: string | undefined } = {},
  ): Promise<Opened> => {
    const { hostname, port } = new URL(http.url)
    const asked = request({ hostname, port, path, method, headers: { ...headers }, agent: false, localAddress: from })
    requests.push(asked)
    // A stream that is cut at the end of a test breaks.
    asked.on('error', () => {})
    asked.end(body)
    const [response]: IncomingMessage[] = await once(asked, 'response')
    response!.on('error', () => {})
    return {
      status: response!.statusCode,
      retryAfter: response!.headers['retry-after'],
      headers: response!.headers,
      text: async () => (await buffer(response!)).toString(),
    }
  }
  const post = async (message: object, headers: Readonly<Record<string, string>>, from?: string): Promise<Opened> =>
    open(
      'POST',
      '/mcp',
      { ...JSON_HEADERS, ...headers },
      { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }), from },
    )
  return {
    http,
    audited,
    open,
    async session(token?: string, from?: string): Promise<string> {
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const opened = await post({ method: 'initialize', params }, token === undefined ? {} : bearer(token), from)
      await opened.text()
      return String(opened.headers['mcp-session-id'])
    },
    async statusIn(session: string, token?: string, from?: string): Promise<number | undefined> {
      const headers = { 'mcp-session-id': session, ...(token !== undefined && bearer(token)) }
      return (await post({ method: 'skills/list', params: {} }, headers, from)).status
    },
    async listen(token: string): Promise<Opened> {
      const params = { notifications: { resourcesListChanged: true }, _meta: META }
      return post(
        { method: 'subscriptions/listen', params },
        { ...modernHeaders('subscriptions/listen', {}), ...bearer(token) },
      )
    },
    async signIn(token: string): Promise<Record<string, string>> {
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        origin: http.url,
        host: new URL(http.url).host,
      }
      const { headers: answered } = await open('POST', '/login', headers, { body: `token=${token}` })
      return { cookie: String(answered['set-cookie']?.[0]?.split(';')[0]) }
    },
    async [Symbol.asyncDispose]() {
      for (const one of requests) one.destroy()
      await http[Symbol.asyncDispose]()
    },
  }
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const NO_HOST: PageHost = {
  clean: (text) => text,
  now: () => new Date(0),
  isTokenRequired: true,
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
