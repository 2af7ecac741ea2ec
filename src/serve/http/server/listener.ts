import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { TraceContext } from '../../../base/trace-context.ts'
import { traceInHeaders } from '../../mcp/rpc/trace.ts'
import type { Socket } from 'node:net'
import type { Principal, Scope } from '../../principal.ts'
import type { Decision } from '../../access-decision.ts'
import { TrustedProxies } from './client-address.ts'
import { ConnectionPlaces } from './connection-slots.ts'
import { Connections } from './connections.ts'
import { allowPage } from './cross-origin.ts'
import { ClientGone } from './client-gone.ts'
import { refusalOfHead } from './request-head.ts'
import { PerAddress } from './connection-limit.ts'
import { sendError } from './response.ts'
import { Unsent } from './backpressure.ts'

// An import would have Node load its `fetch` too, which takes ten times as long.
const { createServer } = process.getBuiltinModule('node:http')

/** Where to listen, what to bear, and whom to tell of errors. */
export interface ListenerOptions {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** What listens there already, opened by who started us: nothing is bound then. */
  readonly handed?: Socket | undefined
  readonly limits: ListenerLimits
  /** Who is believed when it says for whom it asks: addresses and networks. */
  readonly trustedProxies?: readonly string[]
  /** An error that no client caused. The client is told that there was one, and no more. `trace`: what its request names. */
  readonly onError: (error: unknown, trace?: TraceContext) => void
}

/** What connections may cost, and how long they may take. */
export interface ListenerLimits {
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  readonly connectionsPerAddress?: number | undefined
  /** What answers may hold that clients have not taken yet, all together. */
  readonly unsentBytes?: number | undefined
}

/** What is answered at an address. */
export interface Site {
  /** Why a request is turned away before anything of it is read, or undefined. */
  readonly refusalOf: (request: IncomingMessage) => string | undefined
  /** The foreign site whose pages may read the answer, if it came from one. */
  readonly guestOf?: (request: IncomingMessage) => string | undefined
  /** Whether a request is let in to a route that is not for everybody. */
  readonly admit: (request: IncomingMessage, scope: Scope) => Promise<Decision>
  /** Resolves when it is the turn of a request that is let in, or its client is gone; undefined where it is now. */
  readonly turnOf?: (
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ) => Promise<void> | undefined
  readonly routes: Routes
  /** Is told of each request that was answered, however that was. */
  readonly answered?: (request: IncomingMessage, response: ServerResponse, answered: Answered) => void
  /** Said where no route leads. */
  readonly nothingHere: string
}

/**
 * By path. One that ends in a slash stands for each name directly below it; one that ends in two stars, for all paths below,
 * which are the name then.
 */
export type Routes = Readonly<Record<string, Route>>

export interface Route {
  /** Those that it answers; all of them if nothing else is said. */
  readonly methods?: readonly string[]
  /** What a token has to open, where one is needed. Without it the route is for everybody, or asks for a proof of its own. */
  readonly scope?: Scope
  /** What of it is remembered; if nothing else is said, who was not let in. */
  readonly audit?: 'all' | 'refusals'
  readonly answer: (request: IncomingMessage, response: ServerResponse, asked: Asked) => Promise<void>
}

export interface Answered extends Pick<Route, 'audit'> {
  /** Its key among the routes; undefined where none was found. */
  readonly route?: string
  readonly principal?: Principal | undefined
}

export interface Asked {
  /** The last part of the path. */
  readonly name: string
  /** Undefined where no token was given, and none is needed. */
  readonly principal: Principal | undefined
}

/** An HTTP server, while it listens. */
export interface Listener extends AsyncDisposable {
  /** With the port that was picked. */
  readonly url: string
  /** Of answers that clients have not taken yet. */
  readonly unsentBytes: () => number
}

/**
 * Opens a listener. Disposing it lets answers that are on their way end, then closes. `siteNow` is asked at each request: what a
 * request begins with, it ends with.
 */
export async function openListener(siteNow: () => Site, options: ListenerOptions): Promise<Listener> {
  const server = createServer({ connectionsCheckingInterval: DEADLINE_CHECK_MS }, (request, response) => {
    const site = siteNow()
    const refusal = refusalOfHead(request)
    if (refusal !== undefined) {
      sendError(response, refusal.status, -32000, refusal.message, { headers: { connection: 'close' } })
      return site.answered?.(request, response, {})
    }
    if (connections.waitingOn(request.socket) >= MAX_PIPELINED) {
      sendError(response, 503, -32000, 'Too many requests at once on one connection', {
        headers: { connection: 'close' },
      })
      return site.answered?.(request, response, {})
    }
    if (perAddress?.admits(request, response) === false) {
      sendError(response, 429, -32000, 'Too many requests at once from one address', {
        headers: { 'retry-after': '1' },
      })
      return site.answered?.(request, response, {})
    }
    connections.inTurn(response, () => void dispatch(site, request, response, options.onError))
  })
  const { connectionsPerAddress } = options.limits
  const proxies = new TrustedProxies(options.trustedProxies ?? [])
  const perAddress =
    connectionsPerAddress === undefined ? undefined : new PerAddress(server, connectionsPerAddress, proxies)
  const connections = new Connections(server)
  const places = new ConnectionPlaces(server, options.limits.connections, proxies, connections)
  const unsent = new Unsent(server, options.limits.unsentBytes)
  setLimits(server, options.limits)
  await listening(server, options)
  return {
    url: urlOf(server, options.host),
    unsentBytes: () => unsent.bytes,
    async [Symbol.asyncDispose]() {
      await closed(server, connections)
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
    // The last catch before the socket: one failed request never takes the others with it.
    if (!(error instanceof ClientGone) && !isAborted(error)) onError(error, traceInHeaders(request.headers))
    if (!response.headersSent) sendError(response, 500, -32603, 'Internal error')
    else response.destroy()
  } finally {
    site.answered?.(request, response, answered)
  }
}

async function answer(
  { refusalOf, guestOf, admit, turnOf, routes, nothingHere }: Site,
  request: IncomingMessage,
  response: ServerResponse,
  told: (answered: Answered) => void,
): Promise<void> {
  const refusal = refusalOf(request)
  if (refusal !== undefined) return sendError(response, 403, -32000, refusal)
  const guest = guestOf?.(request)
  if (guest !== undefined && allowPage(request, response, guest)) return
  const path = (request.url ?? '/').replace(/\?.*$/s, '')
  const { route, name, key } = routeOf(routes, path)
  if (route === undefined) return sendError(response, 404, -32000, nothingHere)
  const kept = { route: key, ...(route.audit !== undefined && { audit: route.audit }) }
  told(kept)
  const decision = route.scope === undefined ? undefined : await admit(request, route.scope)
  told({ ...kept, principal: decision?.principal })
  if (decision?.kind === 'granted') await turnOf?.(request, response, decision.principal)
  // Who is gone by now is told to nobody again: what would be held for it would be held for good.
  if (response.destroyed) return
  if (decision?.kind === 'denied') {
    return sendError(response, decision.status, -32000, decision.message, { headers: decision.headers })
  }
  if (route.methods?.includes(request.method ?? '') === false) return sendNotAllowed(response, route.methods)
  await route.answer(request, response, { name, principal: decision?.principal })
}

function sendNotAllowed(response: ServerResponse, methods: readonly string[]): void {
  sendError(response, 405, -32000, 'Method not allowed', { headers: { allow: methods.join(', ') } })
}

/** For what is only looked at. */
export const READ_METHODS = ['GET', 'HEAD'] as const

function routeOf(routes: Routes, path: string): Found {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const name = path.slice(folder.length)
  // The root is a page, and no folder of all that has a name.
  if (Object.hasOwn(routes, path) && (name !== '' || path === '/')) return { route: routes[path], name, key: path }
  if (name !== '' && folder !== '/' && Object.hasOwn(routes, folder))
    return { route: routes[folder], name, key: folder }
  const tree = Object.keys(routes).find((key) => key.endsWith('/**') && path.startsWith(key.slice(0, -2)))
  if (tree === undefined) return { route: undefined, name, key: '' }
  return { route: routes[tree], name: path.slice(tree.length - 2), key: tree }
}

interface Found {
  readonly route: Route | undefined
  readonly name: string
  readonly key: string
}

/** A client that sends request after request and reads nothing has so many of them held for it, and no more. */
const MAX_PIPELINED = 8

/** The client went away while it was sending. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

/** Node looks at its deadlines every 30 seconds unless told otherwise: 10 seconds for the headers would be up to 40. */
const DEADLINE_CHECK_MS = 1_000

/** Node's own limits are too loose for a server that strangers can reach, and its keep-alive too short for pooled clients. */
function setLimits(server: Server, limits: ListenerLimits): void {
  server.headersTimeout = limits.headersMs
  server.requestTimeout = limits.requestMs
  server.keepAliveTimeout = 75_000
  // Above a limit of its own Node 22 drops headers and says nothing. What bounds them is the size of the head.
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

/** Connections that wait to be taken, where somebody else set the bound: listening again sets it anew, and the system lowers it. */
const MOST_WAITING = 4_096

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

/** A socket of Unix has no port. */
function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? `:${address.port}` : ''
  return `http://${host.includes(':') ? `[${host}]` : host}${port}`
}
