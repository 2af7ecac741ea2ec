import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { RpcFault } from './hostile-answer.ts'
import type { Reply } from './hostile-answer.ts'
import type { Brain, Caller } from './hostile-brain.ts'
import { VERSION_KEY, recordOf } from './hostile-request.ts'
import type { Recorded } from './hostile-request.ts'
import { legacyStream } from './hostile-streams.ts'
import type { Sink, Stream } from './hostile-streams.ts'
import { trickle } from './hostile-trickle.ts'

const SESSION = 'mcp-session-id'
const EVENTS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }

interface Session {
  readonly uris: Set<string>
  stream?: Stream | undefined
}

/** The one endpoint of both eras, as both want it over HTTP. */
export class HttpEdge {
  readonly #brain: Brain
  readonly #end: AbortSignal
  readonly #sessions = new Map<string, Session>()

  constructor(brain: Brain, end: AbortSignal) {
    this.#brain = brain
    this.#end = end
  }

  /** Knows no session any more, as after a restart. */
  forgetSessions(): void {
    this.#sessions.clear()
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that is gone is no fault here.
    response.on('error', () => {})
    const refused = this.#brain.door?.(request)
    if (refused !== undefined) return void response.writeHead(refused.status ?? 200, refused.headers).end(refused.raw)
    if (request.url?.split('?')[0] !== '/mcp') return sendStatus(response, 404)
    if (request.method === 'POST') return this.#post(request, response)
    if (this.#brain.era === 'modern' || !this.#brain.hasSessions) return sendStatus(response, 405)
    const session = this.#sessions.get(String(request.headers[SESSION]))
    if (session === undefined) return sendStatus(response, 404)
    if (request.method === 'GET') return this.#openStream(session, response)
    if (request.method !== 'DELETE') return sendStatus(response, 405)
    session.stream?.end()
    this.#sessions.delete(String(request.headers[SESSION]))
    return sendStatus(response, 200)
  }

  async #post(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = incoming
    const body = (await buffer(incoming)).toString()
    const request = recordOf(body, 'http', headers)
    const session = this.#sessions.get(String(headers[SESSION]))
    const caller = { uris: session?.uris ?? new Set<string>(), refusal: this.#refusalOf(request, session) }
    await this.#send(await this.#brain.reply(request, caller), request, response)
  }

  #refusalOf(request: Recorded, session: Session | undefined): Caller['refusal'] {
    const { era, method, headers } = request
    if (!isPostOf(headers)) return new RpcFault(-32000, 'Not Acceptable', undefined, 406)
    if (era === 'modern') return mismatchOf(request)
    if (session !== undefined || !this.#brain.hasSessions || method === 'initialize') return undefined
    if (headers[SESSION] !== undefined) return new RpcFault(-32001, 'Session not found', undefined, 404)
    return new RpcFault(-32000, 'Bad Request: Mcp-Session-Id header is required', undefined, 400)
  }

  async #send(reply: Reply, request: Recorded, response: ServerResponse): Promise<void> {
    // Nobody would ever close a stream that is opened now.
    if (response.destroyed) return
    switch (reply.kind) {
      case 'silence':
        return
      case 'drop':
        response.destroy()
        return
      case 'accepted':
        return sendStatus(response, 202)
      case 'listen': {
        const stream = this.#brain.listen(request, eventSink(response))
        response.once('close', () => this.#brain.open.remove(stream))
        return
      }
      case 'body':
        return this.#sendBody(reply, request, response)
    }
  }

  async #sendBody(reply: Reply & { kind: 'body' }, request: Recorded, response: ServerResponse): Promise<void> {
    const opened = reply.isResult === true && request.method === 'initialize' && request.era === 'legacy'
    if (opened && this.#brain.hasSessions) response.setHeader(SESSION, this.#newSession())
    const isEvent = reply.headers === undefined && reply.status === 200 && this.#brain.answersAs === 'events'
    const body = isEvent ? eventOf(reply.body.toString()) : reply.body
    response.writeHead(reply.status, reply.headers ?? (isEvent ? EVENTS : { 'content-type': 'application/json' }))
    if (reply.delayPerByteMs !== undefined) {
      response.flushHeaders()
      await trickle(body, reply.delayPerByteMs, response, this.#end)
    }
    response.end(reply.delayPerByteMs === undefined ? body : '')
  }

  #newSession(): string {
    const id = randomUUID()
    this.#sessions.set(id, { uris: new Set() })
    return id
  }

  #openStream(session: Session, response: ServerResponse): void {
    if (session.stream !== undefined) return sendStatus(response, 409)
    const stream = legacyStream(eventSink(response), session.uris)
    session.stream = stream
    this.#brain.open.add(stream)
    response.once('close', () => {
      session.stream = undefined
      this.#brain.open.remove(stream)
    })
  }
}

function eventSink(response: ServerResponse): Sink {
  response.writeHead(200, EVENTS).flushHeaders()
  return {
    send: (message) => void response.write(eventOf(JSON.stringify(message))),
    pour: (text) => void response.write(text),
    end: () => void response.end(),
    cut: () => void response.destroy(),
  }
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`
}

function sendStatus(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}

function isPostOf({ accept = '', 'content-type': type = '' }: IncomingMessage['headers']): boolean {
  return (
    type.startsWith('application/json') && accept.includes('application/json') && accept.includes('text/event-stream')
  )
}

/** 2026-07-28 wants in headers what stands in the body. */
function mismatchOf({ id, method, params, headers }: Recorded): Caller['refusal'] {
  const name = method === 'resources/read' ? params?.uri : undefined
  const given = headers['mcp-name']?.toString()
  const encoded = /^=\?base64\?(.*)\?=$/.exec(given ?? '')?.[1]
  const decoded = encoded === undefined ? given : Buffer.from(encoded, 'base64').toString()
  const isRight =
    headers['mcp-method'] === method &&
    headers['mcp-protocol-version'] === params?._meta?.[VERSION_KEY] &&
    (name === undefined || decoded === name)
  return isRight || id === undefined ? undefined : new RpcFault(-32020, 'The headers and the body disagree')
}
