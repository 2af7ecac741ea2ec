import { Answers } from '../mcp/answers.ts'
import { buildServer } from '../mcp/core.ts'
import { eventsOf } from '../mcp/events.ts'
import { Hub } from '../mcp/hub.ts'
import type { Serving } from '../mcp/methods.ts'
import { multiplexerFor } from '../mcp/multiplexer.ts'
import type { Multiplexer } from '../mcp/multiplexer.ts'
import type { Era } from '../mcp/caller.ts'
import { EventStreams } from './event-stream.ts'
import { refusalOf, refusalOfBrowser } from './guard.ts'
import { openListener } from './listener.ts'
import type { Listener, ListenerLimits, ListenerOptions, Routes } from './listener.ts'
import { McpEndpoint } from './mcp.ts'
import { LegacyEdge } from './mcp-legacy.ts'
import { ModernEdge } from './mcp-modern.ts'
import { Sessions } from './sessions.ts'
import type { SessionLimits } from './sessions.ts'
import { Shortcut } from './shortcut.ts'
import type { WebhookEndpoint } from './webhook.ts'

/** Where to listen, what to bear, and whom to tell of errors. The host is a loopback address or name. */
export interface HttpOptions extends ListenerOptions {
  readonly limits: HttpLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  /** Answered here too, where they have no address of their own. */
  readonly webhooks?: WebhookEndpoint
}

/** What clients may cost, and how long they may take. */
export interface HttpLimits extends ListenerLimits {
  readonly bodyBytes: number
  readonly streams: number
  readonly keepAliveMs: number
  readonly sessions: SessionLimits
}

/** The HTTP side of the daemon, while it listens. */
export interface HttpServer extends Listener {
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
    new Shortcut(new Answers(serving), sessions),
    options.limits.bodyBytes,
  )
  const routes: Routes = {
    '/mcp': (request, response) => endpoint.answer(request, response),
    ...(options.webhooks !== undefined && hookRoutes(options.webhooks)),
  }

  const listener = await openListener({ refusalOf, routes, nothingHere: NOTHING_HERE }, options)
  const telling = serving.registry.listen((changes) => hub.tell(eventsOf(changes)))
  return {
    url: listener.url,
    counts: () => ({ sessions: sessions.size, streams: streams.size, subscribedUris: hub.size }),
    async [Symbol.asyncDispose]() {
      telling[Symbol.dispose]()
      streams[Symbol.dispose]()
      await listener[Symbol.asyncDispose]()
    },
  }
}

/** Opens the second listener, for programs of the operator and of git hosts. It may lie off loopback, and has nothing for browsers. */
export async function serveOperations(webhooks: WebhookEndpoint, options: ListenerOptions): Promise<Listener> {
  const nothingHere = 'Nothing is served at this path'
  return openListener({ refusalOf: refusalOfBrowser, routes: hookRoutes(webhooks), nothingHere }, options)
}

function hookRoutes(webhooks: WebhookEndpoint): Routes {
  return { '/hooks/': (request, response, source) => webhooks.answer(source, request, response) }
}

const NOTHING_HERE = 'Nothing is served at this path; MCP is at /mcp'

async function coreFor(serving: Serving, era: Era): Promise<Multiplexer> {
  const multiplexer = multiplexerFor(era)
  const server = buildServer(serving, era, (context) => multiplexer.callerOf(context.mcpReq.id))
  await server.connect(multiplexer.transport)
  return multiplexer
}
