import { once } from 'node:events'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import { ReadableStream } from 'node:stream/web'
import type { Proxy, HostRoute } from './host-access.ts'
import { connectionFailure, PROXY_ADDRESS, proxyRefusal } from './http-failure.ts'
import type { Head } from './http-failure.ts'
import { knownAddresses } from './known-addresses.ts'

// An import would make Node load its `fetch` too, which takes ten times as long.
const { Agent: HttpAgent, request: httpRequest } = process.getBuiltinModule('node:http')

/** One complete request. */
export interface HttpRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | StreamedBody
  readonly route: HostRoute
  readonly signal: AbortSignal
  /** True if the request must not be sent again. It then gets a new connection, because a reused one may be closing. */
  readonly isSentOnce?: boolean
}

/** A body that is made while it is sent. It is made once more if the request has to be sent again. */
export interface StreamedBody {
  readonly byteLength: number
  readonly pieces: () => AsyncIterable<Uint8Array>
}

/** The head of an answer; the caller must read the body or give it up. */
export interface HttpAnswer extends Head {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  giveUp(): void
}

/**
 * Sends one request and follows no redirect. It uses Node's own client: the base of `fetch` takes longer to load than a
 * small fetch takes in total, and every worker loads it anew.
 */
export async function exchange(url: string, asked: HttpRequest): Promise<HttpAnswer> {
  const { proxy } = asked.route
  const isRelayed = proxy !== undefined && !isSecure(url)
  if (!isRelayed) return exchangeOnce(url, asked)
  // Such a proxy answers the request itself, so connection errors here belong to the proxy.
  const what = `Cannot reach "${new URL(url).origin}" through the proxy "${proxy.url}"`
  const answer = await exchangeOnce(url, asked).catch((cause: unknown) => {
    throw connectionFailure(cause, what, PROXY_ADDRESS)
  })
  if (answer.status !== 407) return answer
  answer.giveUp()
  throw proxyRefusal(answer.status, what, Object.keys(proxy.headers).length > 0)
}

async function exchangeOnce(url: string, asked: HttpRequest): Promise<HttpAnswer> {
  const outgoing = await send(url, asked)
  try {
    return answerOf(url, await headOf(outgoing))
  } catch (error) {
    // The host closed an idle connection just as it was reused. There was no answer, so the request is sent again.
    if (!outgoing.reusedSocket || !isReset(error)) throw error
    return answerOf(url, await headOf(await send(url, asked)))
  }
}

const HTTP_AGENT = new HttpAgent({ keepAlive: true })

async function send(url: string, asked: HttpRequest): Promise<ClientRequest> {
  const { method, headers, body, route, signal, isSentOnce = false } = asked
  const length = body === undefined ? {} : { 'content-length': String(body.byteLength) }
  const options = { method, headers: { ...headers, ...length }, signal, ...(isSentOnce && { agent: false as const }) }
  const outgoing = await openRequest(url, route, options)
  outgoing.once('socket', heedErrors)
  if (body === undefined || body instanceof Uint8Array) outgoing.end(body)
  // Its failure is the failure of the request.
  else void sendPieces(outgoing, body, signal).catch((error: unknown) => outgoing.destroy(asError(error)))
  return outgoing
}

/** A host may answer, and close the connection, before it has read all. */
async function sendPieces(outgoing: ClientRequest, { pieces }: StreamedBody, signal: AbortSignal): Promise<void> {
  for await (const piece of pieces()) {
    if (outgoing.destroyed) return
    if (!outgoing.write(piece)) await once(outgoing, 'drain', { signal })
  }
  outgoing.end()
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/**
 * Adds an error listener to a socket. Node has none between the end of an answer and the connection's return to the
 * agent: an abort at that moment would end the process.
 */
function heedErrors(socket: Socket): void {
  if (socket.listenerCount('error', ignoreError) === 0) socket.on('error', ignoreError)
}

/** Does nothing: a waiting caller gets the error from the request. */
function ignoreError(): void {}

interface Sending extends RequestOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly servername?: string
  /** `false`: a new connection for this request alone. */
  readonly agent?: false
}

async function openRequest(url: string, route: HostRoute, options: Sending): Promise<ClientRequest> {
  const { proxy } = route
  if (proxy === undefined) return openRequestTo(url, route, options)
  const { openTunnel, serverNameOf } = await import('./http-proxy.ts')
  if (!isSecure(url)) {
    const servername = serverNameOf(new URL(proxy.url))
    return openRequestTo(proxy.url, route, { ...relayOptions(url, proxy, options), servername })
  }
  const socket = await openTunnel(new URL(url), route, proxy, options.signal)
  // An agent, even a new one, would open a connection past the proxy. Each request has its own tunnel.
  return (await secureRequest())(url, { ...options, agent: undefined, createConnection: () => socket })
}

async function openRequestTo(url: string, route: HostRoute, sending: Sending): Promise<ClientRequest> {
  const { ca } = route
  const options = { ...sending, ...knownAddresses(route) }
  if (!isSecure(url)) return httpRequest(url, { agent: HTTP_AGENT, ...options })
  if (ca === undefined) return (await secureRequest())(url, options)
  const { agent, context } = await (await import('./http-trust.ts')).trustIn(ca)
  const trust = { agent, secureContext: context }
  return (await secureRequest())(url, { ...trust, ...options })
}

/** Adapts the request for a relaying proxy, which needs the whole address. */
function relayOptions(url: string, proxy: Proxy, options: Sending): Sending {
  const { href, host } = new URL(url)
  return { ...options, path: href, headers: { ...options.headers, host, ...proxy.headers } }
}

function isSecure(url: string): boolean {
  return new URL(url).protocol === 'https:'
}

/** Loads TLS only if a source needs it: certificates take half of Node's startup time. */
async function secureRequest(): Promise<typeof httpRequest> {
  return (await import('node:https')).request
}

async function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  // After the answer has begun, its body reports errors too, and this rejection has no effect.
  outgoing.on('error', reject)
  return promise
}

function answerOf(url: string, message: IncomingMessage): HttpAnswer {
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

/** Converts the answer for a client that uses `fetch`. The caller has bounded the body; some statuses allow none. */
export function responseOf(
  answer: HttpAnswer,
  body: AsyncIterable<Uint8Array> | undefined,
  status = answer.status,
): Response {
  const { headers } = answer
  if (body !== undefined && !BODILESS.has(status)) return new Response(ReadableStream.from(body), { status, headers })
  answer.giveUp()
  return new Response(null, { status, headers })
}

const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
