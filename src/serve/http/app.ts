import { Answers } from '../mcp/answers.ts'
import { listenForEvents } from '../mcp/events.ts'
import { Hub } from '../mcp/hub.ts'
import type { Serving } from '../mcp/methods.ts'
import { ScopedCore } from '../mcp/scoped-core.ts'
import type { Registry } from '../registry.ts'
import { Access } from './access.ts'
import { announcedBytes } from '../mcp/announced.ts'
import type { AccessRules } from './access.ts'
import { admission, rateOf } from './admission.ts'
import { TrustedProxies } from './client-address.ts'
import { EventStreams } from './event-stream.ts'
import { Guard } from './guard.ts'
import type { Names } from './guard.ts'
import { healthRoutes } from './health.ts'
import type { HealthOptions, Unready } from './health.ts'
import { HttpAudit } from './http-audit.ts'
import { openListener } from './listener.ts'
import { metricsRoutes } from './metrics.ts'
import type { Metrics } from './metrics.ts'
import type { Listener, ListenerLimits, ListenerOptions, Routes, Site } from './listener.ts'
import { McpEndpoint } from './mcp.ts'
import { LegacyEdge } from './mcp-legacy.ts'
import { ModernEdge } from './mcp-modern.ts'
import { Past } from './past.ts'
import { NO_SESSION_LOG } from './session-log.ts'
import type { SessionLog } from './session-log.ts'
import { metadataRoutes, rulesWith } from './protected-resource.ts'
import type { OAuthOptions } from './protected-resource.ts'
import { PageSessions } from './page-sessions.ts'
import type { Rate, RateLimit } from './rate-limit.ts'
import { Sessions } from './sessions.ts'
import type { SessionLimits } from './sessions.ts'
import { Shortcut } from './shortcut.ts'
import { webOf } from './web.ts'
import type { WebOptions } from './web.ts'
import { hookRoutes } from './webhook.ts'
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
  /** The same. */
  readonly metrics?: Metrics
  /** What is offered besides MCP; nothing if nothing else is said. */
  readonly web?: WebOptions
  /** Whose tokens are accepted besides ours. */
  readonly oauth?: OAuthOptions
  /** Why requests should go elsewhere; if nothing else is said, nothing but that there is no generation. */
  readonly unready?: () => readonly Unready[]
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
  readonly counts: () => HttpCounts
  readonly figures: () => HttpFigures
  /** To be called when a token was revoked: its streams and sessions end now, and not when somebody looks. */
  readonly endWhatIsOver: () => void
  /** Answers from these from now on, on the same listener, for the same sessions and streams. Address and limits stay. */
  readonly serve: (serving: Serving, options: HttpOptions) => void
}

export interface HttpCounts {
  readonly sessions: number
  readonly streams: number
  readonly subscribedUris: number
}

/** What is counted besides. */
export interface HttpFigures extends HttpCounts {
  /** Notifications that were given to subscribers. */
  readonly updates: number
  readonly listChanges: number
  readonly unsentBytes: number
}

/** Opens the listener. Disposing it ends every stream with its result, then closes. */
export async function serveHttp(serving: Serving, options: HttpOptions): Promise<HttpServer> {
  const heard = listenersOf(serving, options)
  const { hub, streams, sessions, past } = heard
  let listener: Listener
  const siteFrom = (served: Serving, asked: HttpOptions): Built => siteOf(served, asked, heard, () => listener.url)
  let { site, offered } = siteFrom(serving, options)
  // Before there is a session: what is published while they are brought back must reach those that are.
  let telling = listenForEvents(serving, (events) => hub.tell(events))
  const noting = note(serving, heard)
  const end = (): void => {
    for (const one of [telling, ...noting]) one[Symbol.dispose]()
    streams[Symbol.dispose]()
  }
  try {
    await sessions.restore()
    const endSessionsOver = (): void => sessions.endThoseOf(options.access.isGone ?? (() => false))
    endSessionsOver()
    listener = await openListener(() => site, options)
    const counts = (): HttpCounts => ({ sessions: sessions.size, streams: streams.size, subscribedUris: hub.size })
    return {
      url: listener.url,
      unsentBytes: listener.unsentBytes,
      counts,
      figures: () => ({ ...counts(), ...hub.told, unsentBytes: listener.unsentBytes() }),
      endWhatIsOver() {
        streams.endThoseOver()
        endSessionsOver()
      },
      serve(next, asked) {
        const before = offered
        ;({ site, offered } = siteFrom(next, asked))
        // Its readers come back to the new one by themselves; who is still being answered is not waited for.
        void before?.[Symbol.asyncDispose]()
        telling[Symbol.dispose]()
        telling = listenForEvents(next, (events) => hub.tell(events))
        const mark = past.now
        const events = past.serve(next)
        if (events === undefined) return
        hub.tell(events)
        sessions.told(mark, past.now)
      },
      async [Symbol.asyncDispose]() {
        end()
        await listener[Symbol.asyncDispose]()
        await offered?.[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    end()
    throw error
  }
}

/** What goes on whichever site answers: who is told of changes, who is signed in, and how often each has asked. */
interface Listeners {
  readonly hub: Hub
  readonly streams: EventStreams
  readonly sessions: Sessions
  readonly past: Past
  readonly signedIn: PageSessions
  readonly rate: RateLimit | undefined
}

function listenersOf(serving: Serving, options: HttpOptions): Listeners {
  const { limits, now, sessionLog: log = NO_SESSION_LOG } = options
  const hub = new Hub()
  const past = new Past(serving, (mark) => log.catalogOf(mark))
  const sessions = new Sessions({ hub, limits: limits.sessions, now, log, past })
  const signedIn = new PageSessions(now)
  return { hub, streams: new EventStreams(limits), sessions, past, signedIn, rate: rateOf(options) }
}

/** Has what sessions were told of written down, and those that nobody uses ended. */
function note(serving: Serving, { sessions, past }: Listeners): readonly Disposable[] {
  return [
    serving.registry.watch((before, catalog) => sessions.told(past.markOf(before), past.markOf(catalog))),
    every(SWEEP_MS, () => sessions.sweep()),
  ]
}

/** A site, and what of it has to be ended with it. */
interface Built {
  readonly site: Site
  readonly offered: AsyncDisposable | undefined
}

/** `url`: where we listen, which is known once we do. */
function siteOf(serving: Serving, options: HttpOptions, heard: Listeners, url: () => string): Built {
  const { host, names, oauth, web, webhooks, metrics, now } = options
  const address = (): string => names?.publicUrl?.replace(/\/$/, '') ?? url()
  const resource = (): string => `${address()}/mcp`
  const access = new Access(rulesOf(options, resource))
  const admit = admission(access, heard.rate, options.trustedProxies)
  const guard = new Guard({ ...names, host })
  const audit = new HttpAudit(serving, new TrustedProxies(options.trustedProxies ?? []), now)
  const { streams, signedIn } = heard
  const offered = web && webOf(serving, web, { access, admit, address, now, audit, streams, signedIn })
  const site: Site = {
    refusalOf: (request) => guard.refusalOf(request),
    guestOf: (request) => guard.guestOf(request),
    admit,
    answered: (request, response, answered) => audit.answered(request, response, answered),
    routes: {
      ...mcpRoutes(serving, options, heard, audit),
      ...healthRoutes(healthOf(serving, options)),
      ...(webhooks !== undefined && hookRoutes(webhooks)),
      ...(metrics !== undefined && metricsRoutes(metrics)),
      ...offered?.routes,
      ...(oauth !== undefined && metadataRoutes(oauth, resource)),
    },
    nothingHere: NOTHING_HERE,
  }
  return { site, offered }
}

/** Where a token is needed, it is so for whoever would know what there is. */
function healthOf({ registry }: Serving, { unready, access }: HttpOptions): HealthOptions {
  return { unready: unready ?? (() => unlessServed(registry)), isOpen: !access.isTokenRequired }
}

function unlessServed({ catalog }: Registry): readonly Unready[] {
  return catalog.generation > 0 ? [] : [{ why: 'nothing-served' }]
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

/** Calls until what is returned is disposed. Keeps no process alive. */
function every(ms: number, call: () => void): Disposable {
  const timer = setInterval(call, ms).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

const SWEEP_MS = 60_000

const NOTHING_HERE = 'Nothing is served at this path; MCP is at /mcp'
