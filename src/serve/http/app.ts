import { eventsOf } from '../mcp/events.ts'
import { Hub } from '../mcp/hub.ts'
import type { Serving } from '../mcp/methods.ts'
import { ScopedCore } from '../mcp/scoped-core.ts'
import { Access, OPEN_TO_ALL } from './access.ts'
import type { AccessRules, Decision } from './access.ts'
import { EventStreams } from './event-stream.ts'
import { refusalOf, refusalOfBrowser } from './guard.ts'
import { openListener } from './listener.ts'
import type { Listener, ListenerLimits, ListenerOptions, Routes } from './listener.ts'
import { McpEndpoint } from './mcp.ts'
import { LegacyEdge } from './mcp-legacy.ts'
import { ModernEdge } from './mcp-modern.ts'
import { metadataRoutes, rulesWith } from './protected-resource.ts'
import type { OAuthOptions } from './protected-resource.ts'
import { Sessions } from './sessions.ts'
import type { SessionLimits } from './sessions.ts'
import { webRoutes } from './web.ts'
import type { WebOptions } from './web.ts'
import type { WebhookEndpoint } from './webhook.ts'

/** Where to listen, what to bear, and whom to tell of errors. The host is a loopback address or name. */
export interface HttpOptions extends ListenerOptions {
  readonly limits: HttpLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  /** Who may ask; everybody who can connect if nothing else is said. */
  readonly access?: AccessRules
  /** Answered here too, where they have no address of their own. */
  readonly webhooks?: WebhookEndpoint
  /** What is offered besides MCP; nothing if nothing else is said. */
  readonly web?: WebOptions
  /** Whose tokens are accepted besides ours. */
  readonly oauth?: OAuthOptions
  /** The address that clients know, where it is another than that of the listener. */
  readonly publicUrl?: string
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
  /** To be called when a token was revoked: its streams end now, and not when somebody looks. */
  readonly endStreamsOver: () => void
}

/** Opens the listener. Disposing it ends every stream with its result, then closes. */
export async function serveHttp(serving: Serving, options: HttpOptions): Promise<HttpServer> {
  const hub = new Hub()
  const streams = new EventStreams(options.limits)
  const sessions = new Sessions(hub, options.limits.sessions, options.now)
  const endpoint = new McpEndpoint(
    new ModernEdge(new ScopedCore(serving, 'modern'), serving.registry, hub, streams),
    new LegacyEdge(new ScopedCore(serving, 'legacy'), sessions, streams),
    options.limits.bodyBytes,
  )
  const { oauth } = options
  const resource = (): string => `${options.publicUrl?.replace(/\/$/, '') ?? listener.url}/mcp`
  const rules = options.access ?? OPEN_TO_ALL
  const access = new Access(oauth === undefined ? rules : rulesWith(rules, oauth, resource))
  const routes: Routes = {
    '/mcp': {
      scope: 'skills',
      answer: (request, response, { principal }) => endpoint.answer(request, response, principal),
    },
    ...(options.webhooks !== undefined && hookRoutes(options.webhooks)),
    ...(options.web !== undefined && webRoutes(serving, options.web)),
    ...(oauth !== undefined && metadataRoutes(oauth, resource)),
  }

  const site = { refusalOf, admit: access.decide.bind(access), routes, nothingHere: NOTHING_HERE }
  const listener = await openListener(site, options)
  const telling = serving.registry.listen((changes) => hub.tell(eventsOf(changes)))
  return {
    url: listener.url,
    counts: () => ({ sessions: sessions.size, streams: streams.size, subscribedUris: hub.size }),
    endStreamsOver: () => streams.endThoseOver(),
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
  const admit = async (): Promise<Decision> => OPEN
  return openListener({ refusalOf: refusalOfBrowser, admit, routes: hookRoutes(webhooks), nothingHere }, options)
}

function hookRoutes(webhooks: WebhookEndpoint): Routes {
  return { '/hooks/': { answer: (request, response, { name }) => webhooks.answer(name, request, response) } }
}

const OPEN: Decision = { kind: 'granted', principal: undefined }

const NOTHING_HERE = 'Nothing is served at this path; MCP is at /mcp'
