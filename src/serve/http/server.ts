import type { Serving } from '../mcp/core/methods.ts'
import type { Registry } from '../registry.ts'
import { Access } from './access/access.ts'
import type { AccessRules } from './access/access.ts'
import { admission, rateOf } from './access/authorize.ts'
import { TrustedProxies } from './server/client-address.ts'
import { disconnected } from './server/client-gone.ts'
import { mcpRoutes } from './mcp/mcp-routes.ts'
import { EventStreams } from './server/event-stream.ts'
import { Guard } from './access/host-check.ts'
import { holdersBehind } from './server/share-holder.ts'
import type { Names } from './access/host-check.ts'
import { healthRoutes } from './routes/health.ts'
import type { HealthOptions, Unready } from './routes/health.ts'
import { HttpAudit } from './server/audit.ts'
import { openListener } from './server/listener.ts'
import { metricsRoutes } from './routes/metrics.ts'
import type { Metrics } from './routes/metrics.ts'
import type { Listener, ListenerLimits, ListenerOptions, Site } from './server/listener.ts'
import { NO_SESSION_LOG } from './mcp/session-store.ts'
import type { SessionLog } from './mcp/session-store.ts'
import { metadataRoutes, rulesWith } from './access/protected-resource.ts'
import type { OAuthOptions } from './access/protected-resource.ts'
import { PageSessions } from '../page/http/login-sessions.ts'
import type { Rate, RateLimit } from './access/rate-limit.ts'
import { RequestTurns } from './server/request-scheduler.ts'
import { Rooms } from './mcp/view-hubs.ts'
import { Sessions } from './mcp/sessions.ts'
import type { SessionLimits } from './mcp/sessions.ts'
import { webOf } from '../page/http/web-routes.ts'
import type { WebOptions } from '../page/http/web-routes.ts'
import { hookRoutes } from './routes/webhook.ts'
import type { WebhookEndpoint } from './routes/webhook.ts'
import type { Choices } from '../views.ts'

/** Where to listen, what to bear, and whom to tell of errors. */
export interface HttpOptions extends ListenerOptions {
  readonly limits: HttpLimits
  /** Milliseconds that only ever go up. */
  readonly now: () => number
  /** Milliseconds that this thread has worked, by which it is shared; if nothing else is said, those of `now`. */
  readonly spentMs?: () => number
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
  /** Whether nothing new is served, since the disk takes no writes. */
  readonly isReadOnly?: () => boolean
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
  const { rooms, streams, sessions } = heard
  let listener: Listener
  const siteFrom = (served: Serving, asked: HttpOptions): Built => siteOf(served, asked, heard, () => listener.url)
  let { site, offered } = siteFrom(serving, options)
  const noting = note(serving, heard)
  const end = (): void => {
    for (const one of [rooms, ...noting]) one[Symbol.dispose]()
    streams[Symbol.dispose]()
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
        // Its readers come back to the new one by themselves; who is still being answered is not waited for.
        void before?.[Symbol.asyncDispose]()
        const mark = rooms.now
        if (rooms.serve(next)) sessions.told(mark, rooms.now)
        streams.endThoseWith(comeOrGone(mark.packs, rooms.now.packs))
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

/** What goes on whichever site answers: who is told of changes, who is signed in, and how often each has asked. */
interface Listeners {
  readonly rooms: Rooms
  readonly streams: EventStreams
  readonly sessions: Sessions
  readonly signedIn: PageSessions
  readonly rate: RateLimit | undefined
  readonly turns: RequestTurns
}

function listenersOf(serving: Serving, options: HttpOptions): Listeners {
  const { limits, now, sessionLog: log = NO_SESSION_LOG } = options
  const rooms = new Rooms(serving, (mark) => log.catalogOf(mark))
  const sessions = new Sessions({ rooms, limits: limits.sessions, now, log })
  const streams = new EventStreams(limits)
  rooms.spent.freeBy((holder, asking) => {
    sessions.freeSubscriptionsOf(holder, asking)
    if (holder !== asking.holder) streams.endThoseOf(holder, () => rooms.spent.isAll)
  })
  serving.packs?.views.usedBy({
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
    signedIn: new PageSessions(now),
    rate: rateOf(options),
    turns: new RequestTurns(now, options.spentMs),
  }
}

/** Has what sessions were told of written down, and those that nobody uses ended. */
function note(serving: Serving, { sessions, rooms }: Listeners): readonly Disposable[] {
  return [
    serving.registry.watch((before, catalog) => sessions.told(rooms.markOf(before), rooms.markOf(catalog))),
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
  const proxies = new TrustedProxies(options.trustedProxies ?? [])
  const holderOf = holdersBehind(proxies)
  const admit = admission(access, heard.rate, holderOf)
  const guard = new Guard({ ...names, host })
  const audit = new HttpAudit(serving, proxies, now)
  const { streams, signedIn } = heard
  const { bodyBytes, requestMs: batchMs } = options.limits
  const batches = { rate: heard.rate, holderOf, turns: heard.turns, batchMs, now }
  const offered = web && webOf(serving, web, { access, admit, address, now, audit, holderOf, streams, signedIn })
  const site: Site = {
    refusalOf: (request) => guard.refusalOf(request),
    guestOf: (request) => guard.guestOf(request),
    admit,
    turnOf: (request, response, principal) =>
      heard.turns.begin(holderOf(request, principal), () => disconnected(response)),
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
      }),
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
function healthOf({ registry }: Serving, { unready, isReadOnly, access }: HttpOptions): HealthOptions {
  return { unready: unready ?? (() => unlessServed(registry)), isReadOnly, isOpen: !access.isTokenRequired }
}

function unlessServed({ catalog }: Registry): readonly Unready[] {
  return catalog.generation > 0 ? [] : [{ why: 'nothing-served' }]
}

function rulesOf({ access, web, oauth }: HttpOptions, resource: () => string): AccessRules {
  const rules = { ...access, ...(web !== undefined && { open: web.open }) }
  return oauth === undefined ? rules : rulesWith(rules, oauth, resource)
}

/** Calls until what is returned is disposed. Keeps no process alive. */
function every(ms: number, call: () => void): Disposable {
  const timer = setInterval(call, ms).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

const SWEEP_MS = 60_000

const NOTHING_HERE = 'Nothing is served at this path; MCP is at /mcp'
