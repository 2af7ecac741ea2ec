import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { traceInHeaders } from '../../../base/trace-context.ts'
import type { TraceContext } from '../../../base/trace-context.ts'
import type { AccessDecision } from '../../access-decision.ts'
import type { Principal, Scope } from '../../principal.ts'
import { viewOf } from '../../view.ts'
import type { View, ViewRules } from '../../view.ts'
import { ClientGone } from './client-gone.ts'
import { ConnectionLimit } from './connection-limit.ts'
import { ConnectionSlots } from './connection-slots.ts'
import { Connections } from './connections.ts'
import { allowPage } from './cross-origin.ts'
import { refusalOfHead } from './request-head.ts'
import { ResponseBackpressure } from './response-backpressure.ts'
import { sendError } from './response.ts'
import { TrustedProxies } from './trusted-proxies.ts'

// An import would make Node load its `fetch` too, which takes ten times as long.
const { createServer } = process.getBuiltinModule('node:http')

/** The options of a listener: address, limits and error handler. */
export interface ListenerOptions {
  readonly host: string
  /** The port; 0 picks a free one. */
  readonly port: number
  /** A listening socket opened by the parent process. If it is set, no address is bound. */
  readonly handed?: Socket | undefined
  readonly limits: ListenerLimits
  /** The addresses and networks of proxies whose client address is trusted. */
  readonly trustedProxies?: readonly string[]
  /**
   * Reports an error that no client caused. The client only learns that an error occurred. `trace`: the trace context
   * of the request.
   */
  readonly onError: (error: unknown, trace?: TraceContext) => void
}

/** Limits and timeouts of connections. */
export interface ListenerLimits {
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  readonly connectionsPerAddress?: number | undefined
  /** Limit on the total bytes of responses that clients have not read yet. */
  readonly unsentBytes?: number | undefined
}

/** The routes and checks of one address. */
export interface Site {
  /** Returns the reason to reject a request before it is read, or `undefined`. */
  readonly refusalOf: (request: IncomingMessage) => string | undefined
  /** Returns the foreign site whose pages may read the response, if the request came from one. */
  readonly guestOf?: (request: IncomingMessage) => string | undefined
  /** Decides about a request to a route that is not public. */
  readonly admit: (request: IncomingMessage, scope: Scope) => Promise<AccessDecision>
  /** Resolves at the turn of an admitted request, or when its client is gone; `undefined` if it need not wait. */
  readonly turnOf?: (
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ) => Promise<void> | undefined
  readonly routes: Routes
  /** The packs and rings of what is served here; none by default. */
  readonly views?: ViewRules | undefined
  /** Called after each request, with any result. */
  readonly answered?: (request: IncomingMessage, response: ServerResponse, answered: Answered) => void
  /** The message of a 404. */
  readonly nothingHere: string
}

/**
 * The routes by path. A path that ends in a slash matches each name directly below it. A path that ends in two stars
 * matches all paths below it, which are the name then.
 */
export type Routes = Readonly<Record<string, HttpRoute>>

export interface HttpRoute {
  /** The accepted methods; all if absent. */
  readonly methods?: readonly string[]
  /** The required scope. Without it the route is public, or verifies its own proof. */
  readonly scope?: Scope
  /** The audited requests; by default only denials. */
  readonly audit?: 'all' | 'refusals'
  /** The address of the page, relative to this one, for a person who opens this one in a browser. */
  readonly page?: string
  /** True if the address does not count with a slash at its end, where the relative links of a page would break. */
  readonly refusesSlash?: true
  readonly answer: (request: IncomingMessage, response: ServerResponse, asked: ReceivedRequest) => Promise<void>
}

export interface Answered extends Pick<HttpRoute, 'audit'> {
  /** The key of the route; `undefined` if none matched. */
  readonly route?: string
  readonly principal?: Principal | undefined
}

export interface ReceivedRequest {
  /** The last part of the path. */
  readonly name: string
  /** `undefined` if no token is required and none was given. */
  readonly principal: Principal | undefined
  /** The part of everything that the client may see. */
  readonly view: View
}

/** A listening HTTP server. */
export interface HttpListener extends AsyncDisposable {
  /** The URL, with the actual port. */
  readonly url: string
  /** The bytes of responses that clients have not read yet. */
  readonly unsentBytes: () => number
}

/**
 * Opens a listener. Its disposal lets pending responses end, and then closes it. `siteNow` is called once per request,
 * so that a request keeps the same site to its end.
 */
export async function openListener(siteNow: () => Site, options: ListenerOptions): Promise<HttpListener> {
  const server = createServer({ connectionsCheckingInterval: DEADLINE_CHECK_MS }, (request, response) => {
    const site = siteNow()
    const refusal = refusalOfHead(request)
    if (refusal !== undefined) {
      sendError(response, {
        status: refusal.status,
        code: -32000,
        message: refusal.message,
        headers: { connection: 'close' },
      })
      return site.answered?.(request, response, {})
    }
    if (connections.waitingOn(request.socket) >= MAX_PIPELINED) {
      sendError(response, {
        status: 503,
        code: -32000,
        message: 'Too many requests at once on one connection',
        headers: { connection: 'close' },
      })
      return site.answered?.(request, response, {})
    }
    if (perAddress?.admits(request, response) === false) {
      sendError(response, {
        status: 429,
        code: -32000,
        message: 'Too many requests at once from one address',
        headers: { 'retry-after': '1' },
      })
      return site.answered?.(request, response, {})
    }
    connections.inTurn(response, () => void dispatch(site, request, response, options.onError))
  })
  const { connectionsPerAddress } = options.limits
  const proxies = new TrustedProxies(options.trustedProxies ?? [])
  const perAddress =
    connectionsPerAddress === undefined ? undefined : new ConnectionLimit(server, connectionsPerAddress, proxies)
  const connections = new Connections(server)
  const places = new ConnectionSlots(server, options.limits.connections, proxies, connections)
  const unsent = new ResponseBackpressure(server, options.limits.unsentBytes)
  setLimits(server, options.limits)
  await listening(server, options)
  return {
    url: urlOf(server, options.host),
    unsentBytes: () => unsent.bytes,
    async [Symbol.asyncDispose]() {
      await closeServer(server, connections)
      unsent[Symbol.dispose]()
      places[Symbol.dispose]()
    },
  }
}

async function dispatch(
  site: Site,
  request: IncomingMessage,
  response: ServerResponse,
  onError: ListenerOptions['onError'],
): Promise<void> {
  let answered: Answered = {}
  try {
    await answer(site, request, response, (as) => (answered = as))
  } catch (error) {
    // The last catch before the socket: one failed request never affects the others.
    if (!(error instanceof ClientGone) && !isAborted(error)) onError(error, traceInHeaders(request.headers))
    if (!response.headersSent) sendError(response, { status: 500, code: -32603, message: 'Internal error' })
    else response.destroy()
  } finally {
    site.answered?.(request, response, answered)
  }
}

async function answer(
  { refusalOf, guestOf, admit, turnOf, routes, views, nothingHere }: Site,
  request: IncomingMessage,
  response: ServerResponse,
  told: (answered: Answered) => void,
): Promise<void> {
  const refusal = refusalOf(request)
  if (refusal !== undefined) return sendError(response, { status: 403, code: -32000, message: refusal })
  const guest = guestOf?.(request)
  if (guest !== undefined && allowPage(request, response, guest)) return
  const path = (request.url ?? '/').replace(/\?.*$/s, '')
  const { route, name, key } = routeOf(routes, path)
  if (route === undefined) return sendError(response, { status: 404, code: -32000, message: nothingHere })
  const kept = { route: key, ...(route.audit !== undefined && { audit: route.audit }) }
  told(kept)
  if (route.page !== undefined && isOfBrowser(request)) return sendToPage(response, route.page)
  const decision = route.scope === undefined ? undefined : await admit(request, route.scope)
  told({ ...kept, principal: decision?.principal })
  if (decision?.kind === 'granted') await turnOf?.(request, response, decision.principal)
  // A closed response emits no further `close`, so anything held for it would never be released.
  if (response.destroyed) return
  if (decision?.kind === 'denied') {
    return sendError(response, {
      status: decision.status,
      code: -32000,
      message: decision.message,
      headers: decision.headers,
    })
  }
  if (route.methods?.includes(request.method ?? '') === false) return sendNotAllowed(response, route.methods)
  const principal = decision?.principal
  await route.answer(request, response, { name, principal, view: viewOf(principal, views) })
}

/** True if a browser opens the address. Clients of MCP accept events where they send a GET, and no HTML. */
function isOfBrowser({ method, headers: { accept = '' } }: IncomingMessage): boolean {
  return method === 'GET' && accept.includes('text/html') && !accept.includes('text/event-stream')
}

function sendToPage(response: ServerResponse, page: string): void {
  response.writeHead(303, { location: page, vary: 'accept', 'cache-control': 'no-store' }).end()
}

function sendNotAllowed(response: ServerResponse, methods: readonly string[]): void {
  sendError(response, {
    status: 405,
    code: -32000,
    message: 'Method not allowed',
    headers: { allow: methods.join(', ') },
  })
}

/** The methods of read-only routes. */
export const READ_METHODS = ['GET', 'HEAD'] as const

function routeOf(routes: Routes, path: string): Found {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const name = path.slice(folder.length)
  // The root is a page. It is not a folder route for all names.
  if (Object.hasOwn(routes, path) && (name !== '' || path === '/')) return { route: routes[path], name, key: path }
  if (name !== '' && folder !== '/' && Object.hasOwn(routes, folder))
    return { route: routes[folder], name, key: folder }
  const tree = Object.keys(routes).find((key) => key.endsWith('/**') && path.startsWith(key.slice(0, -2)))
  if (tree !== undefined) return { route: routes[tree], name: path.slice(tree.length - 2), key: tree }
  return (name === '' ? withoutSlash(routes, path.slice(0, -1)) : undefined) ?? { route: undefined, name, key: '' }
}

/** Finds the route of a path whose slash at the end was taken off: clients and proxies add one to an address. */
function withoutSlash(routes: Routes, path: string): Found | undefined {
  if (path === '' || path.endsWith('/')) return undefined
  const found = routeOf(routes, path)
  const { route } = found
  if (route === undefined || route.refusesSlash === true) return undefined
  return route.page === undefined ? found : { ...found, route: { ...route, page: `../${route.page}` } }
}

interface Found {
  readonly route: HttpRoute | undefined
  readonly name: string
  readonly key: string
}

/** Limit of pipelined requests that are held for a client that does not read. */
const MAX_PIPELINED = 8

/** True if the client disconnected while it was sending. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

/** Node checks its timeouts every 30 seconds by default: 10 seconds for the headers could become 40. */
const DEADLINE_CHECK_MS = 1_000

/**
 * Node's own limits are too loose for a public server, and its keep-alive is too short for clients with connection
 * pools.
 */
function setLimits(server: Server, limits: ListenerLimits): void {
  server.headersTimeout = limits.headersMs
  server.requestTimeout = limits.requestMs
  server.keepAliveTimeout = 75_000
  // Above its own limit, Node drops headers silently. The size of the head limits them instead.
  server.maxHeadersCount = 0
}

async function listening(server: Server, { host, port, handed }: ListenerOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  const opened = (): void => {
    server.off('error', reject)
    resolve()
  }
  if (handed === undefined) server.listen({ host, port }, opened)
  else server.listen(handed, MOST_WAITING, opened)
  await promise
}

/** The backlog of a socket opened by the parent process: `listen` sets it again, and the system lowers it. */
const MOST_WAITING = 4_096

async function closeServer(server: Server, connections: Connections): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.close(() => resolve())
  connections.close()
  const force = setTimeout(() => server.closeAllConnections(), GRACE_MS)
  await promise
  clearTimeout(force)
}

/** Time for pending responses to end, and for streams to send their last message. */
const GRACE_MS = 2_000

/** A Unix socket has no port. */
function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? `:${address.port}` : ''
  return `http://${host.includes(':') ? `[${host}]` : host}${port}`
}
