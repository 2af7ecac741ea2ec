import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { listenOnFreePort } from '../free-port.ts'
import type { Identity } from '../http/certificates.ts'
import { askBackend, passAnswer, type Answer, type Call } from './git-backend.ts'
import type { Repository } from './repository.ts'

/** How requests are answered wrongly. `on` and `of` narrow the fault to one kind of request, or repository; others are answered well. */
export type Fault = { readonly on?: RequestKind; readonly of?: string } & (
  | { readonly kind: 'none' }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  /** To another origin, the path kept. */
  | { readonly kind: 'redirect'; readonly status: number; readonly to: string; readonly only?: 'GET' }
  /** Destroys the socket after so many bytes of the body. */
  | { readonly kind: 'truncate'; readonly at: number }
  /** Ends the answer, as if whole, after so many bytes of the body. */
  | { readonly kind: 'end'; readonly at: number }
  /** Ends the answer, as if whole, on the first boundary of pkt-lines at or after so many bytes. */
  | { readonly kind: 'end-on-packet'; readonly at: number }
  /** Sends so many bytes of the body and then nothing more. */
  | { readonly kind: 'hang'; readonly at: number }
  /** Takes the request and never answers. */
  | { readonly kind: 'hang-before' }
  /** Inverts one byte of the body. */
  | { readonly kind: 'flip'; readonly at: number }
)

/** `receive-pack` is the POST of a push. `upload-pack` is each POST of a reader; `ls-refs` and `fetch` are the two commands it can carry (version 1: `fetch`). */
export type RequestKind = 'info-refs' | 'receive-pack' | 'upload-pack' | 'ls-refs' | 'fetch'

/** What each request must carry, else it is answered with 401. A token is taken as Bearer or as a Basic password. */
export type Access =
  | { readonly basic: { readonly user: string; readonly password: string } }
  | { readonly token: string }

/** A request as it was seen; the body is unpacked if it came gzipped. */
export interface GitRequest {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly gitProtocol: string | undefined
  readonly body: Buffer
  /** When it had come, on the monotonic clock. */
  readonly atMs: number
}

/** Git's own HTTP backend on a port, of loopback if no other address is given, for reading and pushing, that can be told to fail. */
export class GitServer implements AsyncDisposable {
  readonly origin: string
  /** How the next requests are answered, until changed. */
  fault: Fault = { kind: 'none' }
  /** What requests must carry; nothing unless set. */
  access: Access | undefined
  /** Who is let in to which repository, besides; all unless set. */
  doors: ((name: string, headers: IncomingMessage['headers']) => boolean) | undefined
  /** Called before a request is answered. */
  before: ((request: GitRequest) => Promise<void>) | undefined
  /** Sends answers on as they are made, as hosts do; else each is whole before it is sent. Faults want whole ones. */
  streams = false
  /** Bytes that it has sent on, heads included. */
  streamedBytes = 0
  readonly #server: Server
  readonly #folders = new Map<string, string>()
  readonly #requests: GitRequest[] = []
  readonly #waiting = new Set<(request: GitRequest) => void>()
  readonly #end = new AbortController()

  private constructor(server: Server, scheme: string, host: string) {
    this.#server = server
    this.origin = `${scheme}://${host}:${portOf(server)}`
    server.on('request', (request, response) => {
      // A client that went away in the middle leaves nobody to tell.
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  /** Over TLS, if it is given an identity. */
  static async start(tls?: Identity, host = '127.0.0.1'): Promise<GitServer> {
    const server = tls === undefined ? createServer() : createTlsServer(tls)
    await listenOnFreePort(server, host)
    return new GitServer(server, tls === undefined ? 'http' : 'https', host)
  }

  /** Serves a repository under a name, instead of the one served there before. Returns the URL to configure. */
  serve(name: string, repository: Repository): string {
    this.#folders.set(name, repository.folder)
    return `${this.origin}/${name}.git`
  }

  /** Every request seen so far, oldest first. */
  get requests(): readonly GitRequest[] {
    return this.#requests
  }

  /** Resolves once a request that the predicate accepts has arrived; those from number `since` on count too. */
  async requested(predicate: (request: GitRequest) => boolean, since = 0): Promise<void> {
    if (this.#requests.slice(since).some(predicate)) return
    await new Promise<void>((resolve) => {
      const listener = (request: GitRequest) => {
        if (!predicate(request)) return
        this.#waiting.delete(listener)
        resolve()
      }
      this.#waiting.add(listener)
    })
  }

  /** Nobody listens on its port any more, until `comeBack`. */
  async goAway(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async comeBack(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      const { hostname, port } = new URL(this.origin)
      this.#server.listen(Number(port), hostname, resolve)
    })
  }

  /** Shows another identity from now on; whoever was connected has to connect anew. */
  showAs(tls: Identity): void {
    if (!(this.#server instanceof TlsServer)) throw new TypeError('The git server does not speak TLS')
    this.#server.setSecureContext(tls)
    this.#server.closeAllConnections()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.goAway()
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const request = seen(incoming, body)
    this.#requests.push(request)
    for (const listener of this.#waiting) listener(request)

    await this.before?.(request)
    const [path = '', query = ''] = request.url.split('?')
    const [, name = '', rest = ''] = /^\/(.+?)\.git(\/.*)$/.exec(path) ?? WITHOUT_ENDING.exec(path) ?? []
    if (!isAllowed(request, this.access) || this.doors?.(name, request.headers) === false) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end('credentials required\n')
      return
    }
    const fault = concerns(this.fault, request) ? this.fault : ({ kind: 'none' } as const)
    if (answerInstead(fault, request, response)) return
    const folder = this.#folders.get(decodeURIComponent(name))
    if (folder === undefined) {
      response.writeHead(404).end('no such repository\n')
      return
    }
    const call = { folder, path: rest, query, request: incoming, body }
    if (this.streams) return this.#stream(call, response)
    const answer = await askBackend(call, this.#until(response))
    sendFaulty(answer, fault, response)
  }

  async #stream(call: Call, response: ServerResponse): Promise<void> {
    const { socket } = response
    const before = socket?.bytesWritten ?? 0
    try {
      await passAnswer(call, response)
    } finally {
      this.streamedBytes += (socket?.bytesWritten ?? 0) - before
    }
  }

  /** Aborted when the answer is no longer wanted: the client went away, or the server ends. */
  #until(response: ServerResponse): AbortSignal {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    return AbortSignal.any([gone.signal, this.#end.signal])
  }
}

/** Git hosts also take an address without `.git`. */
const WITHOUT_ENDING = /^\/(.+?)(\/(?:info\/refs|git-[a-z-]+))$/

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The git server does not listen on a port')
  return address.port
}

function seen(incoming: IncomingMessage, body: Buffer): GitRequest {
  return {
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    authorization: incoming.headers.authorization,
    headers: incoming.headers,
    gitProtocol: header(incoming, 'git-protocol'),
    body: header(incoming, 'content-encoding') === 'gzip' ? gunzipSync(body) : body,
    atMs: performance.now(),
  }
}

function header(incoming: IncomingMessage, name: string): string | undefined {
  return incoming.headers[name]?.toString()
}

function isAllowed(request: GitRequest, access: Access | undefined): boolean {
  if (access === undefined) return true
  const [scheme = '', value = ''] = (request.authorization ?? '').split(' ')
  const pair = scheme.toLowerCase() === 'basic' ? Buffer.from(value, 'base64').toString() : undefined
  if ('basic' in access) return pair === `${access.basic.user}:${access.basic.password}`
  if (scheme.toLowerCase() === 'bearer') return value === access.token
  return pair !== undefined && pair.slice(pair.indexOf(':') + 1) === access.token
}

function concerns({ on, of }: Fault, request: GitRequest): boolean {
  const path = request.url.split('?')[0] ?? ''
  if (of !== undefined && !path.startsWith(`/${of}.git/`)) return false
  if (on === undefined) return true
  if (on === 'info-refs') return path.endsWith('/info/refs')
  if (on === 'receive-pack') return path.endsWith('/git-receive-pack')
  if (request.method !== 'POST' || !path.endsWith('/git-upload-pack')) return false
  const isListing = /^.{4}command=ls-refs/.test(request.body.toString('latin1', 0, 64))
  return on === 'upload-pack' || isListing === (on === 'ls-refs')
}

/** Answers a request that the fault keeps from the backend; tells whether it did. */
function answerInstead(fault: Fault, request: GitRequest, response: ServerResponse): boolean {
  if (fault.kind === 'hang-before') return true
  if (fault.kind === 'status') {
    response.writeHead(fault.status, fault.headers).end(fault.body ?? `answered with ${fault.status}\n`)
    return true
  }
  if (fault.kind === 'redirect' && (fault.only === undefined || fault.only === request.method)) {
    response.writeHead(fault.status, { Location: fault.to + request.url }).end()
    return true
  }
  return false
}

function sendFaulty(answer: Answer, fault: Fault, response: ServerResponse): void {
  response.writeHead(answer.status, answer.headers)
  const { body } = answer
  switch (fault.kind) {
    case 'truncate':
      response.write(body.subarray(0, fault.at), () => response.destroy())
      return
    case 'hang':
      response.flushHeaders()
      response.write(body.subarray(0, fault.at))
      return
    case 'end':
      response.end(body.subarray(0, fault.at))
      return
    case 'end-on-packet':
      response.end(body.subarray(0, packetBoundary(body, fault.at)))
      return
    case 'flip':
      response.end(flipped(body, fault.at))
      return
    case 'none':
    case 'status':
    case 'redirect':
    case 'hang-before':
      response.end(body)
  }
}

function flipped(body: Buffer, at: number): Buffer {
  return Buffer.concat([
    body.subarray(0, at),
    body.subarray(at, at + 1).map((byte) => byte ^ 0xff),
    body.subarray(at + 1),
  ])
}

/** The end of the first pkt-line that ends at or after the offset. */
function packetBoundary(body: Buffer, at: number): number {
  let end = 0
  while (end < at && end < body.length) {
    const length = Number.parseInt(body.toString('latin1', end, end + 4), 16)
    // Lengths below four are the special packets (flush, delimiter, end), four bytes of length alone.
    end += Math.max(length, 4)
  }
  return end
}
