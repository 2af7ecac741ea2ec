import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { listenOnFreePort } from '../free-port.ts'
import type { Identity } from './certificates.ts'

/** What the proxy was asked for: the authority of a CONNECT, or the whole address. */
export interface ProxyRequest {
  readonly method: string | undefined
  readonly target: string
  readonly headers: IncomingMessage['headers']
}

/** A forward proxy on a loopback port. All that is asked of it goes to one origin, whatever host is named. */
export class ProxyServer implements AsyncDisposable {
  readonly url: string
  /** What each request must carry as Proxy-Authorization, else it is answered with 407. */
  access: string | undefined
  /** What every request is answered with instead. */
  status: number | undefined
  /** It takes requests and answers none. */
  isSilent = false
  readonly requests: ProxyRequest[] = []
  readonly #server: Server
  readonly #behind: URL
  readonly #sockets = new Set<Duplex>()

  private constructor(server: Server, behind: string, isSecure: boolean) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy does not listen on a port')
    this.url = `${isSecure ? 'https' : 'http'}://127.0.0.1:${address.port}`
    this.#server = server
    this.#behind = new URL(behind)
    server.on('connection', (socket: Socket) => this.#keep(socket))
    server.on('connect', (request, socket) => this.#connect(request, socket))
    server.on('request', (request, response) => this.#relay(request, response))
  }

  static async start(behind: string, tls?: Identity): Promise<ProxyServer> {
    const server = tls === undefined ? createServer() : createTlsServer(tls)
    await listenOnFreePort(server)
    return new ProxyServer(server, behind, tls !== undefined)
  }

  /** Nobody listens on its port any more, until `comeBack`. */
  async goAway(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async comeBack(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(Number(new URL(this.url).port), '127.0.0.1', resolve)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goAway()
  }

  #connect(request: IncomingMessage, socket: Duplex): void {
    const refusal = this.#refusal(request)
    if (this.isSilent) return
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} No\r\nConnection: close\r\n\r\n`)
      return
    }
    const behind = connect(Number(this.#behind.port), this.#behind.hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(behind).pipe(socket)
    })
    this.#keep(behind)
    socket.on('error', () => behind.destroy())
    behind.on('close', () => socket.destroy())
  }

  #relay(request: IncomingMessage, response: ServerResponse): void {
    const refusal = this.#refusal(request)
    if (refusal !== undefined) {
      response.writeHead(refusal).end()
      return
    }
    const { pathname, search } = new URL(request.url ?? '')
    const { 'proxy-authorization': _own, ...headers } = request.headers
    const options = { method: request.method, path: pathname + search, headers }
    const behind = httpRequest(this.#behind, options, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    behind.on('error', () => response.destroy())
    request.pipe(behind)
  }

  #refusal({ method, url, headers }: IncomingMessage): number | undefined {
    this.requests.push({ method, target: url ?? '', headers })
    if (this.status !== undefined) return this.status
    return this.access === undefined || headers['proxy-authorization'] === this.access ? undefined : 407
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
