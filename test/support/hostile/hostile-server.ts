import { createServer as createHttpServer } from 'node:http'
import type { Server as HttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { Brain } from './hostile-brain.ts'
import { HttpEdge } from './hostile-http.ts'
import type { Era, Recorded } from './hostile-request.ts'
import { BRIDGE, StdioConnection } from './hostile-stdio.ts'
import type { Recipients } from './hostile-streams.ts'

/**
 * An MCP server on a loopback port that records what it is asked and can be told to be wrong in any way. It speaks both eras,
 * over HTTP and over stdio. What it says by itself is right.
 */
export class HostileServer extends Brain implements AsyncDisposable {
  readonly url: string
  readonly #http: HttpServer
  readonly #stdio: Server
  readonly #edge: HttpEdge
  readonly #sockets = new Set<Socket>()
  readonly #end = new AbortController()
  #connections = 0

  private constructor(era: Era | 'both', http: HttpServer, stdio: Server) {
    super(era)
    this.url = `http://127.0.0.1:${portOf(http)}/mcp`
    this.#http = http
    this.#stdio = stdio
    this.#edge = new HttpEdge(this, this.#end.signal)
    for (const server of [http, stdio]) server.on('connection', (socket: Socket) => this.#keep(socket))
    stdio.on('connection', (socket: Socket) => new StdioConnection(this, socket, this.#end.signal))
    http.on('request', (request, response) => {
      // A client that went away in the middle leaves nobody to tell.
      this.#edge.answer(request, response).catch(() => response.destroy())
    })
  }

  static async start({ era = 'both' }: { readonly era?: Era | 'both' } = {}): Promise<HostileServer> {
    // A connection that is closed while its client writes to it again looks like a fault that no test asked for.
    const http = createHttpServer({ keepAliveTimeout: 60_000 })
    const stdio = createServer()
    await Promise.all([http, stdio].map(listening))
    return new HostileServer(era, http, stdio)
  }

  /** Every JSON-RPC message that came, oldest first. */
  get requests(): readonly Recorded[] {
    return this.log.all
  }

  /** Those of one method. */
  of(method: string): readonly Recorded[] {
    return this.requests.filter((request) => request.method === method)
  }

  /** The URIs that were read, in order and as often as they were. */
  reads(): readonly string[] {
    return this.of('resources/read').map(({ params }) => params.uri)
  }

  /** Resolves with the first message that is accepted; those from number `since` on count too. */
  async requested(accepts: (request: Recorded) => boolean, since = 0): Promise<Recorded> {
    return this.log.met(accepts, since)
  }

  /** How many connections were ever made, whether anything was asked on them or not. */
  get connections(): number {
    return this.#connections
  }

  /** How many ways there are to tell somebody something. */
  get streams(): number {
    return this.open.size
  }

  /** Resolves once so many streams are open. */
  async streaming(count: number): Promise<void> {
    return this.open.until((open) => open.length === count)
  }

  /** Resolves once somebody would be told of a resource. */
  async subscribed(uri: string): Promise<void> {
    return this.open.until((open) => open.some(({ uris }) => uris.has(uri)))
  }

  /** Tells those who asked for it, each in the form of its era; whoever is named by `to`, asked or not. */
  notify(method: string, params?: object, to?: Recipients): void {
    this.open.notify(method, params, to)
  }

  /** Writes text on every open stream as it stands. */
  pour(text: string): void {
    for (const stream of this.open.all) stream.pour(text)
  }

  /** Ends all open streams as a server does that stops: a listen request gets its result. */
  endStreams(): void {
    for (const stream of this.open.all) {
      stream.end()
      this.open.remove(stream)
    }
  }

  /** Cuts all open streams without a word; a program that was started goes with its own. */
  dropStreams(): void {
    for (const stream of this.open.all) {
      stream.cut()
      this.open.remove(stream)
    }
  }

  /** Knows no session any more, as after a restart. */
  forgetSessions(): void {
    this.#edge.forgetSessions()
  }

  /**
   * Lists skills without an end: first those on offer, then what `entriesOf` makes of the number of the page. Each page has a
   * cursor of its own, or all have the same.
   */
  listEndlessly(cursors: 'fresh' | 'repeated', entriesOf: (page: number) => readonly unknown[] = () => []): void {
    this.on('skills/list', ({ cursor }) => {
      const page = cursor === undefined ? 0 : Number(cursor)
      const skills = page === 0 ? this.skills.listed.map(({ entry }) => entry) : entriesOf(page)
      return { skills, nextCursor: cursors === 'fresh' ? `${page + 1}` : '1' }
    })
  }

  /** What a client runs to reach this server over stdio. */
  program(): { readonly command: string; readonly args: string[] } {
    return { command: process.execPath, args: [BRIDGE, `${portOf(this.#stdio)}`] }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    const closed = [this.#http, this.#stdio].map(closing)
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(closed)
  }

  #keep(socket: Socket): void {
    this.#connections += 1
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

async function listening(server: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
}

async function closing(server: Server): Promise<void> {
  await new Promise<void>((resolve) => void server.close(() => resolve()))
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port')
  return address.port
}
