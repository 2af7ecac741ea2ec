import { admission, rateOf } from '../http/admission.ts'
import { healthRoutes } from '../http/health.ts'
import type { HealthOptions, Unready } from '../http/health.ts'
import { HostCheck } from '../http/host-check.ts'
import type { Names } from '../http/host-check.ts'
import { HttpAccess } from '../http/http-access.ts'
import type { AccessRules } from '../http/http-access.ts'
import { metricsRoutes } from '../http/metrics.ts'
import type { MetricsText } from '../http/metrics.ts'
import { metadataRoutes, rulesWith } from '../http/protected-resource.ts'
import type { OAuthOptions } from '../http/protected-resource.ts'
import type { Rate, RateLimit } from '../http/rate-limit.ts'
import { disconnectSignal } from '../http/server/client-gone.ts'
import { EventStreams } from '../http/server/event-stream.ts'
import { openListener } from '../http/server/listener.ts'
import type { HttpListener, ListenerLimits, ListenerOptions, Routes, Site } from '../http/server/listener.ts'
import { RequestScheduler } from '../http/server/request-scheduler.ts'
import { holdersBehind } from '../http/server/share-holder.ts'
import { TrustedProxies } from '../http/server/trusted-proxies.ts'
import { hookRoutes } from '../http/webhook-endpoint.ts'
import type { WebhookEndpoint } from '../http/webhook-endpoint.ts'
import type { Serving } from '../mcp/core/methods.ts'
import { HttpAudit } from '../mcp/transports/http-audit.ts'
import { mcpRoutes } from '../mcp/transports/mcp-routes.ts'
import type { McpRouteOptions } from '../mcp/transports/mcp-routes.ts'
import { NO_SESSION_LOG } from '../mcp/transports/session-store.ts'
import type { SessionLimits, SessionLog } from '../mcp/transports/session-store.ts'
import { Sessions } from '../mcp/transports/sessions.ts'
import { ViewHubs } from '../mcp/transports/view-hubs.ts'
import { PageSessions } from '../page/http/page-sessions.ts'
import type { SharedPageSessions } from '../page/http/page-sessions.ts'
import { webRoutesOf } from '../page/http/web-routes.ts'
import type { WebOptions } from '../page/http/web-routes.ts'
import type { Registry } from '../registry.ts'
import { viewOf } from '../view.ts'
import type { Choices } from '../view.ts'

/** The options of the HTTP server. */
export interface HttpOptions extends ListenerOptions {
  readonly limits: HttpLimits
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  /** The work time of this thread in milliseconds, which is shared among clients; `now` by default. */
  readonly spentMs?: () => number
  /** Stores sessions across a restart; without it they end with the process. */
  readonly sessionLog?: SessionLog
  /** The rules of access. */
  readonly access: AccessRules
  /** The host names that clients may use in addition to the host. */
  readonly names?: Omit<Names, 'host'>
  /** Served here too, unless webhooks have an address of their own. */
  readonly webhooks?: WebhookEndpoint
  /** Served here too, unless metrics have an address of their own. */
  readonly metrics?: MetricsText
  /** The pages and files served in addition to MCP; none by default. */
  readonly web?: WebOptions
  /** The routes of features; none by default. */
  readonly features?: readonly FeatureRoutes[]
  /** The authorization server whose tokens are accepted in addition to ours. */
  readonly oauth?: OAuthOptions
  /** The page sessions that other processes of the hub know too; by default, only this process knows its own. */
  readonly pageSessions?: SharedPageSessions | undefined
  /** Returns the reasons for not being ready. By default, the only reason is a missing generation. */
  readonly unready?: () => readonly Unready[]
  /** True if the disk refuses writes, so that nothing new is served. */
  readonly isReadOnly?: () => boolean
  /** True if the processes of the hub cannot reach the store that they share. */
  readonly isApart?: () => boolean
}

/** The routes of a feature on the site that serves from now on. */
export type FeatureRoutes = (site: FeatureSite) => Routes

/** The parts of a site that the routes of features use. */
export interface FeatureSite extends Pick<McpRouteOptions, 'serving' | 'streams' | 'holderOf'> {
  /** The message of a 404. */
  readonly nothingHere: string
}

/** Limits and timeouts for clients. */
export interface HttpLimits extends ListenerLimits {
  readonly bodyBytes: number
  readonly streams: number
  /** Limit of bytes that wait for a client that does not read its stream. */
  readonly streamBytes?: number | undefined
  /** The rate per principal, or per address without a principal. */
  readonly rate?: Rate | undefined
  readonly keepAliveMs: number
  readonly sessions: SessionLimits
}

/** The running HTTP server of the daemon. */
export interface HttpServer extends HttpListener {
  readonly counts: () => HttpCounts
  readonly figures: () => HttpFigures
  /** Ends the streams and sessions of revoked tokens at once, instead of at the next check. */
  readonly endWhatIsOver: () => void
  /** Replaces the serving state and options. Listener, sessions, streams, address and limits stay. */
  readonly serve: (serving: Serving, options: HttpOptions) => void
}

export interface HttpCounts {
  readonly sessions: number
  readonly streams: number
  readonly subscribedUris: number
}

/** The counts and further metrics. */
export interface HttpFigures extends HttpCounts {
  /** Notifications sent to subscribers. */
  readonly updates: number
  readonly listChanges: number
  readonly unsentBytes: number
}

/** Opens the listener. Its disposal ends every stream with its result, and then closes it. */
export async function serveHttp(serving: Serving, options: HttpOptions): Promise<HttpServer> {
  const heard = listenersOf(serving, options)
  const { rooms, streams, sessions } = heard
  let listener: HttpListener
  const siteFrom = (served: Serving, asked: HttpOptions): Built => siteOf(served, asked, heard, () => listener.url)
  let { site, offered } = siteFrom(serving, options)
  const noting = note(serving, heard)
  const end = (): void => {
    for (const one of [rooms, noting, sessions, streams]) one[Symbol.dispose]()
  }
  try {
    await sessions.restore()
    const endSessionsOver = (): void => sessions.endThoseOf(options.access.isGone ?? (() => false))
    endSessionsOver()
    listener = await openListener(() => site, options)
    const counts = (): HttpCounts => ({
      sessions: sessions.size,
      streams: streams.size,
      subscribedUris: rooms.figures.subscribedUris,
    })
    return {
      url: listener.url,
      unsentBytes: listener.unsentBytes,
      counts,
      figures: () => ({ ...counts(), ...rooms.figures, unsentBytes: listener.unsentBytes() }),
      endWhatIsOver() {
        streams.endThoseOver()
        endSessionsOver()
      },
      serve(next, asked) {
        const before = offered
        ;({ site, offered } = siteFrom(next, asked))
        // The replaced site ends in the background: its readers reconnect to the new one, and pending responses are not
        // awaited.
        Promise.resolve(before?.[Symbol.asyncDispose]()).catch((error: unknown) => asked.onError(error))
        const mark = rooms.now
        if (rooms.serve(next)) sessions.told(mark, rooms.now)
        const packs = comeOrGone(mark.packs, rooms.now.packs)
        streams.endMoved(packs, (principal) => viewOf(principal, next.views))
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

/** The ids that only one of the two has. */
function comeOrGone(before: Choices = {}, after: Choices = {}): ReadonlySet<string> {
  const [were, are] = [new Set(Object.keys(before)), new Set(Object.keys(after))]
  return new Set([...[...were].filter((id) => !are.has(id)), ...[...are].filter((id) => !were.has(id))])
}

/** The state that outlives a change of the site: subscribers, page logins and rates. */
interface Listeners {
  readonly rooms: ViewHubs
  readonly streams: EventStreams
  readonly sessions: Sessions
  readonly signedIn: PageSessions
  readonly rate: RateLimit | undefined
  readonly turns: RequestScheduler
}

function listenersOf(serving: Serving, options: HttpOptions): Listeners {
  const { limits, now, sessionLog: log = NO_SESSION_LOG } = options
  const rooms = new ViewHubs(serving, (mark, ring) => log.catalogOf(mark, ring))
  const sessions = new Sessions({ rooms, limits: limits.sessions, now, log })
  const streams = new EventStreams(limits)
  rooms.spent.freeBy((holder, asking) => {
    sessions.freeSubscriptionsOf(holder, asking)
    if (holder !== asking.holder) streams.endThoseOf(holder, () => rooms.spent.isAll)
  })
  serving.views?.usedBy({
    of: (view) => (streams.isOpenIn(view) ? 'stream' : sessions.isOpenIn(view) ? 'session' : undefined),
    end(view) {
      sessions.endThoseIn(view)
      streams.endThoseIn(view)
      rooms.close(view)
    },
  })
  return {
    rooms,
    streams,
    sessions,
    signedIn: new PageSessions(now, options.pageSessions),
    rate: rateOf(options),
    turns: new RequestScheduler(now, options.spentMs),
  }
}

/** Records what sessions were notified of. */
function note({ registry }: Serving, { sessions, rooms }: Listeners): Disposable {
  return registry.record((earlier, catalog) => {
    const { before, now } = rooms.marksBetween(earlier, catalog)
    sessions.told(before, now)
  })
}

/** A site, and the parts that must be disposed with it. */
interface Built {
  readonly site: Site
  readonly offered: AsyncDisposable | undefined
}

/** `url`: the listening URL, known as soon as the server listens. */
function siteOf(serving: Serving, options: HttpOptions, heard: Listeners, url: () => string): Built {
  const { host, names, oauth, web, webhooks, metrics, features = [], now } = options
  const address = (): string => names?.publicUrl ?? url()
  const resource = (): string => `${address()}/mcp`
  const access = new HttpAccess(rulesOf(options, resource))
  const proxies = new TrustedProxies(options.trustedProxies ?? [])
  const holderOf = holdersBehind(proxies)
  const admit = admission(access, heard.rate, holderOf)
  const guard = new HostCheck({ ...names, host })
  const audit = new HttpAudit(serving, proxies, now)
  const { streams, signedIn } = heard
  const { bodyBytes, requestMs: batchMs } = options.limits
  const batches = { rate: heard.rate, holderOf, turns: heard.turns, batchMs, now }
  const pages =
    web &&
    webRoutesOf(serving, web, {
      access,
      admit,
      address,
      resource,
      signIn: oauth?.signIn,
      now,
      audit,
      holderOf,
      streams,
      signedIn,
    })
  const shared = { serving, streams, holderOf, nothingHere: NOTHING_HERE }
  const site: Site = {
    refusalOf: (request) => guard.refusalOf(request),
    guestOf: (request) => guard.guestOf(request),
    admit,
    views: serving.views,
    turnOf: (request, response, principal) =>
      heard.turns.begin(holderOf(request, principal), () => disconnectSignal(response)),
    answered: (request, response, answered) => audit.answered(request, response, answered),
    routes: {
      ...mcpRoutes({
        serving,
        ...heard,
        audit,
        holderOf,
        bodyBytes,
        batches,
        nothingHere: NOTHING_HERE,
        hasPage: web?.page !== undefined,
      }),
      ...healthRoutes(healthOf(serving, options)),
      ...(webhooks !== undefined && hookRoutes(webhooks)),
      ...(metrics !== undefined && metricsRoutes(metrics)),
      ...pages?.routes,
      ...Object.fromEntries(features.flatMap((routesFor) => Object.entries(routesFor(shared)))),
      ...(oauth !== undefined && metadataRoutes(oauth, resource)),
    },
    nothingHere: NOTHING_HERE,
  }
  return { site, offered: pages }
}

/** Returns the options of the health checks. If MCP needs a token, their details are withheld too. */
function healthOf({ registry }: Serving, { unready, isReadOnly, isApart, access }: HttpOptions): HealthOptions {
  return { unready: unready ?? (() => unlessServed(registry)), isReadOnly, isApart, isOpen: !access.isTokenRequired }
}

function unlessServed({ catalog }: Registry): readonly Unready[] {
  return catalog.generation > 0 ? [] : [{ why: 'nothing-served' }]
}

function rulesOf({ access, web, oauth }: HttpOptions, resource: () => string): AccessRules {
  const rules = { ...access, ...(web !== undefined && { open: web.open }) }
  return oauth === undefined ? rules : rulesWith(rules, oauth, resource)
}

const NOTHING_HERE = 'Nothing is served at this path; MCP is at /mcp'
