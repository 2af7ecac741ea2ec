import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { bareHost } from '../../../base/host-name.ts'
import type { Proxy, HostRoute } from './host-access.ts'
import { connectionFailure, PROXY_ADDRESS, proxyRefusal } from './http-failure.ts'
import { trustIn } from './http-trust.ts'
import { knownAddresses } from './known-addresses.ts'

// An import would make Node load its `fetch` too, which takes ten times as long.
const { request: httpRequest } = process.getBuiltinModule('node:http')

/**
 * Opens a TLS connection to the host through the proxy, which sees only the name of the host. The proxy's own answer is
 * never used as the host's answer.
 */
export async function openTunnel(url: URL, route: HostRoute, proxy: Proxy, signal: AbortSignal): Promise<TLSSocket> {
  const socket = await connectThrough(url, route, proxy, signal)
  const host = bareHost(url)
  const context = route.ca === undefined ? {} : { secureContext: (await trustIn(route.ca)).context }
  return connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }), ...context })
}

async function connectThrough(url: URL, route: HostRoute, proxy: Proxy, signal: AbortSignal): Promise<Socket> {
  const what = `Cannot reach "${url.origin}" through the proxy "${proxy.url}"`
  const authority = `${url.hostname}:${url.port || '443'}`
  const request = new URL(proxy.url).protocol === 'https:' ? httpsRequest : httpRequest
  const agent = route.ca === undefined || request === httpRequest ? {} : { agent: (await trustIn(route.ca)).agent }
  const servername = serverNameOf(new URL(proxy.url))
  const headers = { ...proxy.headers, host: authority }
  const outgoing = request(proxy.url, {
    method: 'CONNECT',
    path: authority,
    headers,
    servername,
    signal,
    ...agent,
    ...knownAddresses(route),
  })
  const { promise, resolve, reject } = Promise.withResolvers<{ answer: IncomingMessage; socket: Socket }>()
  outgoing.once('connect', (answer, socket: Socket) => resolve({ answer, socket }))
  outgoing.on('error', (cause) => reject(connectionFailure(cause, what, PROXY_ADDRESS)))
  outgoing.end()
  const { answer, socket } = await promise
  if (answer.statusCode === 200) return socket
  socket.destroy()
  throw proxyRefusal(answer.statusCode ?? 0, what, Object.keys(proxy.headers).length > 0)
}

/**
 * Returns the name for the check of the proxy's certificate. Node would take the name in the Host header, which is the
 * target's.
 */
export function serverNameOf(proxy: URL): string {
  const host = bareHost(proxy)
  return isIP(host) === 0 ? host : ''
}
