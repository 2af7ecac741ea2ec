import { Wire, requestOf } from './wire.ts'

export const ERAS = ['modern', 'legacy'] as const
export type Era = (typeof ERAS)[number]

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Writes the requests of one client of an era; of the older one it has a session. */
export class Client {
  readonly #era: Era
  readonly #url: string
  readonly #session: string

  private constructor(era: Era, url: string, session: string) {
    this.#era = era
    this.#url = url
    this.#session = session
  }

  static async open(era: Era, url: string): Promise<Client> {
    using wire = await Wire.open(url)
    return new Client(era, url, era === 'legacy' ? await openSession(url, wire) : '')
  }

  async wire(): Promise<Wire> {
    return Wire.open(this.#url)
  }

  /** A request as this client writes it, to us if nothing else is said. */
  request(method: string, params: Readonly<Record<string, unknown>>, url: string = this.#url): Buffer {
    if (this.#era === 'legacy') return legacyRequest(url, method, params, this.#session)
    const name = params['uri'] ?? params['name']
    return modernRequest(url, 1, method, params, typeof name === 'string' ? name : undefined)
  }

  /** So many equal requests in one body, of a client with a session. */
  batch(method: string, params: Readonly<Record<string, unknown>>, count: number): Buffer {
    const all = Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method, params }))
    return requestOf(this.#url, 'POST', sessionHeaders(this.#session), JSON.stringify(all))
  }

  /** The body of the answer. */
  async bodyOf(method: string, params: Readonly<Record<string, unknown>>): Promise<string> {
    using wire = await this.wire()
    const answer = (await wire.exchange(this.request(method, params))).toString()
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
    if (!body.startsWith('{"result"')) throw new Error(`${method} was answered with ${answer}`)
    return body
  }

  /** Each page of `skills/list`: the params that ask for it, and the answer. */
  async pages(): Promise<{ readonly params: Readonly<Record<string, unknown>>; readonly body: string }[]> {
    const pages: { readonly params: Readonly<Record<string, unknown>>; readonly body: string }[] = []
    for (let cursor: string | undefined; ;) {
      const params = cursor === undefined ? {} : { cursor }
      const body = await this.bodyOf('skills/list', params)
      pages.push({ params, body })
      const { result }: { result: { nextCursor?: string } } = JSON.parse(body)
      if (result.nextCursor === undefined) return pages
      cursor = result.nextCursor
    }
  }
}

/** The request of the modern era that opens a stream for one resource. */
export function listenOf(url: string, index: number, ...uris: readonly string[]): Buffer {
  return modernRequest(url, 1_000 + index, 'subscriptions/listen', { notifications: { resourceSubscriptions: uris } })
}

/** A new session of the older era that is subscribed to one resource; the request that opens its stream. */
export async function sessionOf(url: string, wire: Wire, uri: string): Promise<Buffer> {
  const session = await openSession(url, wire)
  await wire.exchange(legacyRequest(url, 'resources/subscribe', { uri }, session))
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': LEGACY }
  return requestOf(url, 'GET', headers)
}

/** The request that opens a session. */
export function initializeOf(url: string): Buffer {
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  return requestOf(url, 'POST', JSON_HEADERS, body)
}

async function openSession(url: string, wire: Wire): Promise<string> {
  const answer = (await wire.exchange(initializeOf(url))).toString()
  const session = /mcp-session-id: (\S+)/i.exec(answer)?.[1]
  if (session === undefined) throw new Error(`No session was opened: ${answer}`)
  return session
}

function sessionHeaders(session: string): Readonly<Record<string, string>> {
  return { ...JSON_HEADERS, 'mcp-session-id': session, 'mcp-protocol-version': LEGACY }
}

function legacyRequest(url: string, method: string, params: object, session: string): Buffer {
  return requestOf(url, 'POST', sessionHeaders(session), JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
}

function modernRequest(url: string, id: number, method: string, params: object, name?: string): Buffer {
  const headers = {
    ...JSON_HEADERS,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  }
  return requestOf(
    url,
    'POST',
    headers,
    JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: META } }),
  )
}
