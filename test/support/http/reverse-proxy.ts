import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Identity } from './certificates.ts'

/** What it does to what it passes on. `buffers`: holds an answer back until it has all of it, as proxies do that are set up for pages. */
export type Habit =
  | { readonly kind: 'passes' }
  | { readonly kind: 'buffers' }
  /** Ends streams of events as soon as they begin. */
  | { readonly kind: 'cuts streams' }
  | { readonly kind: 'drops headers'; readonly starting: string }
  /** Puts a text in place of another, in answers that are no streams. */
  | { readonly kind: 'rewrites'; readonly from: string; readonly to: string }
  | {
      readonly kind: 'answers'
      readonly status: number
      readonly type: string
      readonly body: string
      readonly location?: string
    }
  /** Takes requests and says nothing. */
  | { readonly kind: 'hangs' }

/** A reverse proxy on a loopback port, before one origin. */
export class ReverseProxy implements AsyncDisposable {
  habit: Habit = { kind: 'passes' }
  readonly origin: string
  /** Requests that came. */
  taken = 0
  readonly #server: Server
  /** The origin that it passes requests on to. */
  behind: string

  private constructor(server: Server, scheme: 'http' | 'https', behind: string) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy does not listen on a port')
    this.origin = `${scheme}://127.0.0.1:${address.port}`
    this.#server = server
    this.behind = behind
    server.on('request', (incoming, response) => this.#take(incoming, response))
  }

  static async before(origin: string): Promise<ReverseProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return new ReverseProxy(server, 'http', origin)
  }

  /** Speaks https. Whom it is before is set later: such a server has to know its address first. */
  static async secure(identity: Identity): Promise<ReverseProxy> {
    const server = createSecureServer(identity)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return new ReverseProxy(server, 'https', '')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  #take(incoming: IncomingMessage, response: ServerResponse): void {
    const { habit } = this
    this.taken += 1
    if (habit.kind === 'hangs') return
    if (habit.kind === 'answers') {
      const { status, type, body, location } = habit
      response.writeHead(status, { 'content-type': type, ...(location !== undefined && { location }) }).end(body)
      return
    }
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).filter(
        ([name]) => habit.kind !== 'drops headers' || !name.startsWith(habit.starting),
      ),
    )
    const outgoing = httpRequest(`${this.behind}${incoming.url}`, { method: incoming.method ?? 'GET', headers })
    outgoing.on('response', (answer) => void this.#pass(answer, response).catch(() => response.destroy()))
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    pipeline(incoming, outgoing, () => {})
  }

  async #pass(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const { habit } = this
    const isStream = answer.headers['content-type'] === 'text/event-stream'
    if (habit.kind === 'cuts streams' && isStream) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
      answer.destroy()
      return
    }
    if (habit.kind === 'buffers' || (habit.kind === 'rewrites' && !isStream)) {
      const whole = await buffer(answer)
      const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = answer.headers
      const text = habit.kind === 'rewrites' ? whole.toString().replaceAll(habit.from, habit.to) : whole
      response.writeHead(answer.statusCode ?? 502, headers).end(text)
      return
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.flushHeaders()
    answer.pipe(response)
  }
}
