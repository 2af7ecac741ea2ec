import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { Server as OldServer } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  ListResourcesRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { ServerCapabilities, ServerResult } from '@modelcontextprotocol/sdk/types.js'
import { Server, createMcpHandler } from '@modelcontextprotocol/server'
import type { HttpAddress, McpLimits, ProgramAddress } from '../../../../src/features/mcp-sources/client/address.ts'
import { MCP_LIMITS } from '../../../../src/features/mcp-sources/client/address.ts'
import { McpConnection } from '../../../../src/features/mcp-sources/client/mcp-connection.ts'
import { PLAIN_WAY, type HostAccess } from '../../../../src/sync/upstream/http/host-access.ts'
import { listenOnFreePort } from '../../../support/free-port.ts'

/** A request as it came, and the answer that is still to be given. */
export interface Heard {
  readonly http: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: any
  readonly response: ServerResponse
}

export interface Listening extends AsyncDisposable {
  readonly address: HttpAddress
  /** Everything that was asked, oldest first. */
  readonly heard: readonly Heard[]
  /** The JSON-RPC methods of it. */
  readonly methods: readonly string[]
}

/** A server of our own that answers as it is told, whatever it is asked. */
export async function listening(answer: (heard: Heard) => void): Promise<Listening> {
  const heard: Heard[] = []
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const said = await text(request).catch(() => '')
    const { method: http = '', url: path = '', headers } = request
    const one = { http, path, headers, body: said === '' ? undefined : JSON.parse(said), response }
    heard.push(one)
    answer(one)
  }
  const server = createServer((request, response) => void take(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: { kind: 'http', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` },
    heard,
    get methods() {
      return heard.flatMap(({ body }) => (body?.method === undefined ? [] : [body.method]))
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function say({ response }: Heard, message: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(message))
}

export function result(heard: Heard, value: unknown, headers: Record<string, string> = {}): void {
  say(heard, { jsonrpc: '2.0', id: heard.body.id, result: value }, 200, headers)
}

export function error(heard: Heard, code: number, data?: unknown, status = 200): void {
  say(heard, { jsonrpc: '2.0', id: heard.body.id, error: { code, message: 'no', data } }, status)
}

export const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } },
  instructions: 'Look at skill://index.json',
}

/** A server of the modern era; what else it is asked is answered as told. */
export function modern(answer: (heard: Heard) => void): Promise<Listening> {
  return listening((heard) => {
    if (heard.body?.method === 'server/discover') result(heard, DISCOVERED)
    else answer(heard)
  })
}

/** A server of the legacy era with a session, and no stream; `undiscovered` is what it makes of `server/discover`. */
export function legacy(
  answer: (heard: Heard) => void,
  undiscovered: (heard: Heard) => void = (heard) => error(heard, -32601),
  capabilities: unknown = { resources: {} },
): Promise<Listening> {
  return listening((heard) => {
    const { http, body, response } = heard
    if (http === 'GET') return response.writeHead(405).end()
    if (http === 'DELETE') return response.writeHead(200).end()
    if (body.method === 'server/discover') return undiscovered(heard)
    if (body.method === 'initialize') {
      const serverInfo = { name: 'old', version: '1' }
      const said = { protocolVersion: '2025-11-25', capabilities, serverInfo }
      return result(heard, said, { 'mcp-session-id': 'one' })
    }
    if (body.id === undefined || body.method === undefined) return response.writeHead(202).end()
    answer(heard)
  })
}

/** What tells a server of an SDK that something changed. */
export interface Telling extends AsyncDisposable {
  readonly address: HttpAddress
  readonly subscribed: ReadonlySet<string>
  /** The methods that sessions were asked for, oldest first. */
  readonly methods: readonly string[]
  updated(uri: string): Promise<void>
  listChanged(): Promise<void>
  /** Ends every stream on which it tells things. */
  drop(): Promise<void>
}

/** A server over the SDK of the modern era. */
export async function sdkServer(): Promise<Telling> {
  const handler = createMcpHandler(
    () => {
      const capabilities = { resources: { subscribe: true, listChanged: true } }
      const server = new Server({ name: 'new', version: '1' }, { capabilities })
      server.setRequestHandler('resources/list', () => ({ resources: [{ uri: 'skill://a/SKILL.md', name: 'a' }] }))
      return server
    },
    { legacy: 'reject' },
  )
  const answer = toNodeHandler(handler)
  const server = createServer((request, response) => void answer(request as never, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: { kind: 'http', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` },
    subscribed: new Set(),
    methods: [],
    updated: async (uri) => handler.notify.resourceUpdated(uri),
    listChanged: async () => handler.notify.resourcesChanged(),
    drop: async () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      await handler.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export interface SessionOptions {
  readonly port?: number
  readonly capabilities?: ServerCapabilities
  /** Answers what the server has no handler for. */
  readonly answer?: (request: { readonly method: string; readonly params?: unknown }) => ServerResult
  /** Called before a subscription holds. */
  readonly onSubscribe?: () => void
  /** The status for a session that is not known. */
  readonly unknown?: 400 | 404
}

/** A server over the SDK of the legacy era, with a session per client. */
export async function sessionServer(options: SessionOptions = {}): Promise<Telling> {
  const { port, answer, unknown = 404 } = options
  const methods: string[] = []
  const subscribed = new Set<string>()
  const servers: OldServer[] = []
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const open = async () => {
    const capabilities = { resources: { subscribe: true, listChanged: true }, ...options.capabilities }
    const server = new OldServer({ name: 'old', version: '1' }, { capabilities })
    if (answer !== undefined) server.fallbackRequestHandler = async (request) => answer(request)
    server.setRequestHandler(ListResourcesRequestSchema, () => ({
      resources: [{ uri: 'skill://a/SKILL.md', name: 'a' }],
    }))
    server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
      options.onSubscribe?.()
      subscribed.add(params.uri)
      return {}
    })
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => (subscribed.delete(params.uri), {}))
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    })
    await server.connect(transport)
    servers.push(server)
    return transport
  }
  const route = async (request: IncomingMessage, response: ServerResponse) => {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? transports.get(id) : undefined
    if (typeof id === 'string' && known === undefined) return void response.writeHead(unknown).end()
    const said = await text(request)
    const body = said === '' ? undefined : JSON.parse(said)
    if (body?.method !== undefined) methods.push(body.method)
    await (known ?? (await open())).handleRequest(request, response, body)
  }
  const http = createServer((request, response) => void route(request, response))
  if (port === undefined) await listenOnFreePort(http)
  else await once(http.listen(port, '127.0.0.1'), 'listening')
  return {
    address: { kind: 'http', url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` },
    subscribed,
    methods,
    async updated(uri) {
      for (const server of servers) await server.sendResourceUpdated({ uri })
    },
    async listChanged() {
      for (const server of servers) await server.sendResourceListChanged()
    },
    async drop() {
      for (const transport of transports.values()) transport.closeStandaloneSSEStream()
    },
    async [Symbol.asyncDispose]() {
      if (!http.listening) return
      http.close()
      http.closeAllConnections()
      for (const server of servers) await server.close()
      await once(http, 'close')
    },
  }
}

/** A program that reads one message a line; `code` has `message` and can `say`. */
export function program(code: string, env: Readonly<Record<string, string>> = {}): ProgramAddress {
  const frame = `
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
    const result = (message, result) => say({ id: message.id, result })
    const error = (message, code) => say({ id: message.id, error: { code, message: 'no' } })
    const greet = (message) => result(message, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} })
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const message = JSON.parse(line)
      ${code}
    })`
  return node(['-e', frame], env)
}

export function node(args: readonly string[], env: Readonly<Record<string, string>> = {}): ProgramAddress {
  return { kind: 'program', command: process.execPath, args, path: '/bin', home: '/home/of', env: async () => env }
}

/** A connection with some of the limits set, and others that no test waits for. */
export function connect(
  address: HttpAddress | ProgramAddress,
  limits: Partial<McpLimits> = {},
  way: () => Promise<HostAccess> = async () => PLAIN_WAY,
): Promise<McpConnection> {
  return McpConnection.open(address, { way, limits: { ...MCP_LIMITS, ...limits }, version: '1.2.3' }, NEVER)
}

export const NEVER: AbortSignal = new AbortController().signal
