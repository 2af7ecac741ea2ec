import { Answers } from '../mcp/answers.ts'
import { listenForEvents } from '../mcp/events.ts'
import { Hub } from '../mcp/hub.ts'
import type { Serving } from '../mcp/methods.ts'
import { ScopedCore } from '../mcp/scoped-core.ts'
import type { IncomingMessage } from 'node:http'
import type { Scope } from '../principal.ts'
import { ANYBODY, Access } from './access.ts'
import { announcedBytes } from '../mcp/announced.ts'
import type { AccessRules, Decision, Denied } from './access.ts'
import { TrustedProxies, networkOf } from './client-address.ts'
import { EventStreams } from './event-stream.ts'
import { Guard, refusalOfBrowser } from './guard.ts'
import type { Names } from './guard.ts'
import { healthRoutes } from './health.ts'
import { HttpAudit } from './http-audit.ts'
import { openListener } from './listener.ts'
import type { Listener, ListenerLimits, ListenerOptions, Routes, Site } from './listener.ts'
import { McpEndpoint } from './mcp.ts'
import { LegacyEdge } from './mcp-legacy.ts'
import { ModernEdge } from './mcp-modern.ts'
import { Past } from './past.ts'
import { NO_SESSION_LOG } from './session-log.ts'
import type { SessionLog } from './session-log.ts'
import { metadataRoutes, rulesWith } from './protected-resource.ts'
import type { OAuthOptions } from './protected-resource.ts'
import { RateLimit } from './rate-limit.ts'
import type { Rate } from './rate-limit.ts'
import { Sessions } from './sessions.ts'
import type { SessionLimits } from './sessions.ts'
import { Shortcut } from './shortcut.ts'
import { webRoutes } from './web.ts'
import type { WebOptions } from './web.ts'
import type { WebhookEndpoint } from './webhook.ts'

/** Where to listen, what to bear, and whom to tell of errors. */
export interface HttpOptions extends ListenerOptions {
  readonly limits: HttpLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  /** Where sessions outlive the process; without it they end with it. */
  readonly sessionLog?: SessionLog
  /** Who may ask. */
  readonly access: AccessRules
  /** By which names clients may call, besides the host. */
  readonly names?: Omit<Names, 'host'>
  /** Answered here too, where they have no address of their own. */
  readonly webhooks?: WebhookEndpoint
  /** What is offered besides MCP; nothing if nothing else is said. */
  readonly web?: WebOptions
  /** Whose tokens are accepted besides ours. */
  readonly oauth?: OAuthOptions
}

/** What clients may cost, and how long they may take. */
export interface HttpLimits extends ListenerLimits {
  readonly bodyBytes: number
  readonly streams: number
  /** What may wait for a client that does not read its stream. */
  readonly streamBytes?: number | undefined
  /** Of each principal; of each address where there is none. */
  readonly rate?: Rate | undefined
  readonly keepAliveMs: number
  readonly sessions: SessionLimits
}

/** The HTTP side of the daemon, while it listens. */
export interface HttpServer extends Listener {
  readonly counts: () => { readonly sessions: number; readonly streams: number; readonly subscribedUris: number }
  /** To be called when a token was revoked: its streams and sessions end now, and not when somebody looks. */
  readonly endWhatIsOver: () => void
}

/** Opens the listener. Disposing it ends every stream with its result, then closes. */
export async function serveHttp(serving: Serving, options: HttpOptions): Promise<HttpServer> {
  const heard = listenersOf(serving, options)
  const { hub, streams, sessions } = heard
  // Before there is a session: what is published while they are brought back must reach those that are.
  const telling = tell(serving, heard)
  const end = (): void => {
    for (const one of telling) one[Symbol.dispose]()
    streams[Symbol.dispose]()
  }
  try {
    await sessions.restore()
    const endSessionsOver = (): void => sessions.endThoseOf(options.access.isGone ?? (() => false))
    endSessionsOver()
    const listener: Listener = await openListener(
      siteOf(serving, options, heard, () => listener.url),
      options,
    )
    return {
      url: listener.url,
      unsentBytes: listener.unsentBytes,
      counts: () => ({ sessions: sessions.size, streams: streams.size, subscribedUris: hub.size }),
      endWhatIsOver() {
        streams.endThoseOver()
        endSessionsOver()
      },
      async [Symbol.asyncDispose]() {
        end()
        await listener[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    end()
    throw error
  }
}

/** Who is told of changes. */
interface Listeners {
  readonly hub: Hub
  readonly streams: EventStreams
  readonly sessions: Sessions
  readonly past: Past
}

function listenersOf(serving: Serving, { limits, now, sessionLog: log = NO_SESSION_LOG }: HttpOptions): Listeners {
  const hub = new Hub()
  const past = new Past(serving, (mark) => log.catalogOf(mark))
  const sessions = new Sessions({ hub, limits: limits.sessions, now, log, past })
  return { hub, streams: new EventStreams(limits), sessions, past }
}

function tell(serving: Serving, { hub, sessions, past }: Listeners): readonly Disposable[] {
  return [
    listenForEvents(serving, (events) => hub.tell(events)),
    serving.registry.watch((before, catalog) => sessions.told(past.markOf(before), past.markOf(catalog))),
    every(SWEEP_MS, () => sessions.sweep()),
  ]
}

/** `url`: where we listen, which is known once we do. */
function siteOf(serving: Serving, options: HttpOptions, heard: Listeners, url: () => string): Site {
  const { host, names, oauth, web, webhooks, now } = options
  const address = (): string => names?.publicUrl?.replace(/\/$/, '') ?? url()
  const resource = (): string => `${address()}/mcp`
  const access = new Access(rulesOf(options, resource))
  const admit = admission(options, access)
  const guard = new Guard({ ...names, host })
  const audit = new HttpAudit(serving, new TrustedProxies(options.trustedProxies ?? []))
  return {
    refusalOf: (request) => guard.refusalOf(request),
    guestOf: (request) => guard.guestOf(request),
    admit,
    answered: (request, response, answered) => audit.answered(request, response, answered),
    routes: {
      ...mcpRoutes(serving, options, heard, audit),
      ...healthRoutes(serving.registry),
      ...(webhooks !== undefined && hookRoutes(webhooks)),
      ...(web !== undefined && webRoutes(serving, web, { access, admit, address, now, audit })),
      ...(oauth !== undefined && metadataRoutes(oauth, resource)),
    },
    nothingHere: NOTHING_HERE,
  }
}

function rulesOf({ access, web, oauth }: HttpOptions, resource: () => string): AccessRules {
  const rules = { ...access, ...(web !== undefined && { open: web.open }) }
  return oauth === undefined ? rules : rulesWith(rules, oauth, resource)
}

function mcpRoutes(
  serving: Serving,
  { limits }: HttpOptions,
  { hub, streams, sessions }: Listeners,
  audit: HttpAudit,
): Routes {
  const endpoint = new McpEndpoint(
    new ModernEdge(new ScopedCore(serving, 'modern'), serving, hub, streams, audit),
    new LegacyEdge(new ScopedCore(serving, 'legacy'), sessions, streams, audit),
    new Shortcut(new Answers(serving), sessions, audit),
    audit,
    limits.bodyBytes,
    (body) => announcedBytes(serving.registry.catalog, serving.forms, body),
  )
  return {
    '/mcp': {
      scope: 'skills',
      audit: 'refusals',
      answer: (request, response, { principal }) => endpoint.answer(request, response, principal),
    },
  }
}

/** Whether one may ask, and then whether not too often. Whoever is denied is counted too: that costs us as much. */
function admission({ limits, now, trustedProxies = [] }: HttpOptions, access: Access): Site['admit'] {
  if (limits.rate === undefined) return async (request, scope) => access.decide(request, scope)
  const rate = new RateLimit(limits.rate, now)
  const proxies = new TrustedProxies(trustedProxies)
  return async (request: IncomingMessage, scope: Scope) => {
    const decision = await access.decide(request, scope)
    const principal = decision.kind === 'granted' ? decision.principal : undefined
    const waitS = rate.take(principal === undefined ? networkOf(proxies.clientOf(request)) : `as ${principal.id}`)
    return waitS === undefined ? decision : { ...tooOften(waitS), ...(principal !== undefined && { principal }) }
  }
}

function tooOften(waitS: number): Denied {
  return { kind: 'denied', status: 429, message: 'Too many requests', headers: { 'retry-after': String(waitS) } }
}

/** Opens the second listener, for programs of the operator and of git hosts. It may lie off loopback, and has nothing for browsers. */
export async function serveOperations(webhooks: WebhookEndpoint, options: ListenerOptions): Promise<Listener> {
  const nothingHere = 'Nothing is served at this path'
  const admit = async (): Promise<Decision> => ANYBODY
  return openListener({ refusalOf: refusalOfBrowser, admit, routes: hookRoutes(webhooks), nothingHere }, options)
}

function hookRoutes(webhooks: WebhookEndpoint): Routes {
  return {
    '/hooks/': {
      methods: ['POST'],
      answer: (request, response, { name }) => webhooks.answer(name, request, response),
    },
  }
}

/** Calls until what is returned is disposed. Keeps no process alive. */
function every(ms: number, call: () => void): Disposable {
  const timer = setInterval(call, ms).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

const SWEEP_MS = 60_000

const NOTHING_HERE = 'Nothing is served at this path; MCP is at /mcp'
