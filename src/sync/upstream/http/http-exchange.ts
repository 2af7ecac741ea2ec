import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import { connectionFailure, proxyRefusal } from './http-failure.ts'
import { knownAddresses } from './known-addresses.ts'
import type { Proxy, Route } from './host-access.ts'

// An import would have Node load its `fetch` too, which takes ten times as long.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http')

/** One request, all of it. */
export interface Asked {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly route: Route
  readonly signal: AbortSignal
}

/** What came back, as far as its head; the body is still to be read, or to be given up. */
export interface Answer {
  readonly url: string
  readonly status: number
  header(name: string): string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  giveUp(): void
}

/**
 * Asks once, and follows nothing. Over Node's own client: what `fetch` stands on takes longer to load than a small fetch
 * takes from beginning to end, and is loaded anew by every worker.
 */
export async function exchange(url: string, asked: Asked): Promise<Answer> {
  const { proxy } = asked.route
  const isRelayed = proxy !== undefined && !isSecure(url)
  if (!isRelayed) return exchangeOnce(url, asked)
  // Such a proxy answers itself: what goes wrong on the way to it, or with it, is its own.
  const what = `Cannot reach "${new URL(url).origin}" through the proxy "${proxy.url}"`
  const answer = await exchangeOnce(url, asked).catch((cause: unknown) => {
    throw connectionFailure(cause, what)
  })
  if (answer.status !== 407) return answer
  answer.giveUp()
  throw proxyRefusal(answer.status, what, Object.keys(proxy.headers).length > 0)
}

async function exchangeOnce(url: string, asked: Asked): Promise<Answer> {
  const outgoing = await sent(url, asked)
  try {
    return answerOf(url, await headOf(outgoing))
  } catch (error) {
    // The host closed a kept connection just when it was used again: nothing was answered, so it is asked anew.
    if (!outgoing.reusedSocket || !isReset(error)) throw error
    return answerOf(url, await headOf(await sent(url, asked)))
  }
}

const HTTP_AGENT = new HttpAgent({ keepAlive: true })

async function sent(url: string, { method, headers, body, route, signal }: Asked): Promise<ClientRequest> {
  const length = body === undefined ? {} : { 'content-length': String(body.byteLength) }
  const options = { method, headers: { ...headers, ...length }, signal }
  const outgoing = await opened(url, route, options)
  outgoing.once('socket', heedErrors)
  outgoing.end(body)
  return outgoing
}

/**
 * Between the end of an answer and the return of its connection to the agent Node listens to no error of the socket: an abort
 * just then would end the process.
 */
function heedErrors(socket: Socket): void {
  if (socket.listenerCount('error', ignoreError) === 0) socket.on('error', ignoreError)
}

/** Whoever still waits hears of it from the request. */
function ignoreError(): void {}

interface Sending extends RequestOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly servername?: string
}

async function opened(url: string, route: Route, options: Sending): Promise<ClientRequest> {
  const { proxy } = route
  if (proxy === undefined) return openedTo(url, route, options)
  const { openTunnel, serverNameOf } = await import('./http-proxy.ts')
  if (!isSecure(url)) {
    const servername = serverNameOf(new URL(proxy.url))
    return openedTo(proxy.url, route, { ...relayed(url, proxy, options), servername })
  }
  const socket = await openTunnel(new URL(url), route, proxy, options.signal)
  return (await secureRequest())(url, { ...options, createConnection: () => socket })
}

async function openedTo(url: string, route: Route, sending: Sending): Promise<ClientRequest> {
  const { ca } = route
  const options = { ...sending, ...knownAddresses(route) }
  if (!isSecure(url)) return httpRequest(url, { ...options, agent: HTTP_AGENT })
  const trust = ca === undefined ? {} : { agent: (await (await import('./http-trust.ts')).trustIn(ca)).agent }
  return (await secureRequest())(url, { ...options, ...trust })
}

/** A request to a proxy names the whole address. */
function relayed(url: string, proxy: Proxy, options: Sending): Sending {
  const { href, host } = new URL(url)
  return { ...options, path: href, headers: { ...options.headers, host, ...proxy.headers } }
}

function isSecure(url: string): boolean {
  return new URL(url).protocol === 'https:'
}

/** Loaded when a source needs it: certificates are half of what Node takes to start. */
async function secureRequest(): Promise<typeof httpRequest> {
  return (await import('node:https')).request
}

async function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  // Once the answer has begun, its body tells of an error too; this one is then for nobody.
  outgoing.on('error', reject)
  return promise
}

function answerOf(url: string, message: IncomingMessage): Answer {
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
  return {
    url,
    status: message.statusCode ?? 0,
    headers,
    header: (name) => headers[name],
    body: message,
    giveUp: () => void message.destroy(),
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}
