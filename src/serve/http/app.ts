import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { buildServer } from '../mcp/core.ts'
import { eventsOf } from '../mcp/events.ts'
import { Hub } from '../mcp/hub.ts'
import type { Serving } from '../mcp/methods.ts'
import { multiplexerFor } from '../mcp/multiplexer.ts'
import type { Multiplexer } from '../mcp/multiplexer.ts'
import type { Era } from '../mcp/caller.ts'
import { Connections } from './connections.ts'
import { ClientGone } from './disconnected.ts'
import { EventStreams } from './event-stream.ts'
import { refusalOf } from './guard.ts'
import { McpEndpoint } from './mcp.ts'
import { LegacyEdge } from './mcp-legacy.ts'
import { ModernEdge } from './mcp-modern.ts'
import { sendError } from './send.ts'
import { Sessions } from './sessions.ts'
import type { SessionLimits } from './sessions.ts'

/** Where to listen, what to bear, and whom to tell of errors. */
export interface HttpOptions {
  /** A loopback address or name. */
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly limits: HttpLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  /** An error that no client caused. The client is told that there was one, and no more. */
  readonly onError: (error: unknown) => void
}

/** What clients may cost, and how long they may take. */
export interface HttpLimits {
  readonly bodyBytes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  readonly streams: number
  readonly keepAliveMs: number
  readonly sessions: SessionLimits
}

/** The HTTP side of the daemon, while it listens. */
export interface HttpServer extends AsyncDisposable {
  /** With the port that was picked. */
  readonly url: string
  readonly counts: () => { readonly sessions: number; readonly streams: number; readonly subscribedUris: number }
}

/** Opens the listener. Disposing it ends every stream with its result, then closes. */
export async function serveHttp(serving: Serving, options: HttpOptions): Promise<HttpServer> {
  const hub = new Hub()
  const streams = new EventStreams(options.limits)
  const sessions = new Sessions(hub, options.limits.sessions, options.now)
  const [modern, legacy] = await Promise.all([coreFor(serving, 'modern'), coreFor(serving, 'legacy')])
  const endpoint = new McpEndpoint(
    new ModernEdge(modern, serving.registry, hub, streams),
    new LegacyEdge(legacy, sessions, streams),
    options.limits.bodyBytes,
  )
  const routes: Routes = { '/mcp': (request, response) => endpoint.answer(request, response) }

  const server = createServer({ connectionsCheckingInterval: DEADLINE_CHECK_MS }, (request, response) => {
    if (connections.waitingOn(request.socket) < MAX_PIPELINED)
      return void dispatch(routes, request, response, options.onError)
    sendError(response, 503, -32000, 'Too many requests at once on one connection', {
      headers: { connection: 'close' },
    })
  })
  const connections = new Connections(server)
  setLimits(server, options.limits)
  await listening(server, options)
  const telling = serving.registry.listen((changes) => hub.tell(eventsOf(changes)))
  return {
    url: urlOf(server, options.host),
    counts: () => ({ sessions: sessions.size, streams: streams.size, subscribedUris: hub.size }),
    async [Symbol.asyncDispose]() {
      telling[Symbol.dispose]()
      streams[Symbol.dispose]()
      await closed(server, connections)
    },
  }
}

async function coreFor(serving: Serving, era: Era): Promise<Multiplexer> {
  const multiplexer = multiplexerFor(era)
  const server = buildServer(serving, era, (context) => multiplexer.callerOf(context.mcpReq.id))
  await server.connect(multiplexer.transport)
  return multiplexer
}

type Routes = Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>>

async function dispatch(
  routes: Routes,
  request: IncomingMessage,
  response: ServerResponse,
  onError: HttpOptions['onError'],
): Promise<void> {
  try {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return sendError(response, 403, -32000, refusal)
    const path = (request.url ?? '/').replace(/\?.*$/s, '')
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined
    if (route === undefined) return sendError(response, 404, -32000, 'Nothing is served at this path; MCP is at /mcp')
    await route(request, response)
  } catch (error) {
    // The last catch before the socket: one failed request never takes the others with it.
    if (!(error instanceof ClientGone) && !isAborted(error)) onError(error)
    if (!response.headersSent) sendError(response, 500, -32603, 'Internal error')
    else response.destroy()
  }
}

/** A client that sends request after request and reads nothing has so many answers held for it, and no more. */
const MAX_PIPELINED = 8

/** The client went away while it was sending. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

/** Node looks at its deadlines every 30 seconds unless told otherwise: 10 seconds for the headers would be up to 40. */
const DEADLINE_CHECK_MS = 1_000

/** Node's own limits are too loose for a server that strangers can reach, and its keep-alive too short for pooled clients. */
function setLimits(server: Server, limits: HttpLimits): void {
  server.headersTimeout = limits.headersMs
  server.requestTimeout = limits.requestMs
  server.keepAliveTimeout = 75_000
  server.maxConnections = limits.connections
  server.maxHeadersCount = 100
}

async function listening(server: Server, { host, port }: HttpOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host, port }, () => {
    server.off('error', reject)
    resolve()
  })
  await promise
}

async function closed(server: Server, connections: Connections): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  connections.close()
  const force = setTimeout(() => server.closeAllConnections(), GRACE_MS)
  await promise
  clearTimeout(force)
}

/** For answers that are on their way, and for streams to hand over their last message. */
const GRACE_MS = 2_000

function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
