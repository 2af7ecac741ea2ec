import { SyncError } from '../../../sync/model/sync-error.ts'
import { credentialHeaders } from '../../../sync/upstream/http/credential-headers.ts'
import type { HostAccess } from '../../../sync/upstream/http/host-access.ts'
import { exchange, responseOf } from '../../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../../sync/upstream/http/http-exchange.ts'
import { connectionFailure, statusFailure } from '../../../sync/upstream/http/http-failure.ts'
import type { ConnectionOptions } from './address.ts'
import { Overlong, Unanswered } from './channel.ts'
import type { ChannelListener } from './channel.ts'
import { isEventStream, isRedirectStatus, refusedRedirect, replyIn, unreadable } from './http-answer.ts'
import { JsonWeight } from './json-weight.ts'
import { METHOD_NOT_FOUND, readMessage } from './message.ts'
import { ServerStreams } from './server-streams.ts'

/**
 * The fetch function of the SDK's transport. It uses our own exchange, so that the CAs, the proxy and the credential
 * are those of the source, and every wait and every body is bounded. The credential goes only to the origin of the
 * address.
 */
export class HttpFetch {
  readonly streams: ServerStreams
  readonly #name: string
  readonly #options: ConnectionOptions
  #listener: ChannelListener | undefined

  constructor(name: string, options: ConnectionOptions) {
    this.streams = new ServerStreams(2 * options.limits.connectMs)
    this.#name = name
    this.#options = options
  }

  hear(listener: ChannelListener): void {
    this.#listener = listener
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    const call = callOf(url, init)
    if (call.isServerStream) this.streams.expect()
    const patience = new Deadline(this.#what, call.signal)
    try {
      const response = await this.#answerTo(call, patience)
      // The SDK opens the stream by itself after this point.
      if (call.rpc === 'notifications/initialized' && response.status === 202) this.streams.expect()
      return response
    } catch (cause) {
      patience.stop()
      if (call.isServerStream) this.streams.refused()
      throw patience.explain(cause)
    }
  }

  get #what(): string {
    return `Cannot reach "${this.#name}"`
  }

  async #answerTo(call: HttpCall, patience: Deadline): Promise<Response> {
    // The answer to a request may take long, so its caller sets the timeout.
    if (call.id === undefined) patience.expect(this.#options.limits.connectMs)
    const way = await this.#options.way(patience.signal)
    const answer = await this.#exchange(call, way, patience)
    patience.rest()
    const failure = refusedRedirect(answer, call.method, this.#what) ?? unreadable(answer, this.#what)
    if (failure !== undefined) throw failure
    // The SDK follows the remaining redirects, and understands 405.
    if (isRedirectStatus(answer)) return responseOf(answer, undefined)
    if (call.isServerStream) return this.#stream(answer, call, patience)
    if (answer.status === METHOD_NOT_ALLOWED && call.method !== 'POST') return responseOf(answer, undefined)
    const bounded = this.#bounded(answer, call, patience)
    const body = isEventStream(answer) ? inWholeLines(bounded) : bounded
    if (answer.status < 300) return responseOf(answer, body)
    return (await this.#replyIn(answer, body, call)) ?? this.#refuse(answer, call, way)
  }

  async #exchange(call: HttpCall, way: HostAccess, { signal }: Deadline): Promise<HttpAnswer> {
    const { url, method, body } = call
    const headers = {
      ...call.headers,
      // A compressed answer would bypass the limit on bytes.
      'accept-encoding': 'identity',
      'user-agent': `skillsyncd/${this.#options.version}`,
      ...credentialHeaders(way, url, this.#name),
    }
    return exchange(url, { method, headers, route: way.route, signal, ...(body !== undefined && { body }) })
  }

  /** The modern era sends JSON-RPC errors with an HTTP error status: they are answers too. */
  async #replyIn(answer: HttpAnswer, body: AsyncIterable<Uint8Array>, call: HttpCall): Promise<Response | undefined> {
    if (call.id === undefined || !ANSWERING.has(answer.status)) return undefined
    const reply = await replyIn(answer, body, call.id)
    // In the legacy era a bare 404 means that the session is over.
    return reply === undefined || (isOver(answer, call) && reply.code !== METHOD_NOT_FOUND) ? undefined : reply.response
  }

  #refuse(answer: HttpAnswer, call: HttpCall, way: HostAccess): never {
    const failure = statusFailure(answer, this.#what, Object.keys(way.headers).length > 0)
    const { code, message, retryAfterMs } = failure
    if (code === 'credentials-rejected' || code === 'rate-limited') throw failure
    const why = isOver(answer, call)
      ? new Unanswered(`${this.#what}: the session is over`)
      : new Unanswered(message, { code, ...(retryAfterMs !== undefined && { retryAfterMs }) })
    if (isOver(answer, call) || isUnknownSession(answer, call)) this.#listener?.lost(why)
    throw why
  }

  #stream(answer: HttpAnswer, call: HttpCall, patience: Deadline): Response {
    if (answer.status !== 200 || !isEventStream(answer)) {
      patience.stop()
      this.streams.refused()
      return responseOf(answer, undefined, METHOD_NOT_ALLOWED)
    }
    return responseOf(
      answer,
      this.#toItsEnd(inWholeLines(this.#bounded(answer, call, patience)), this.streams.opened()),
    )
  }

  /**
   * Passes the stream on and reports its end to the listener, which opens another. The SDK would open one too, so it
   * gets a fake answer at the end.
   */
  async *#toItsEnd(body: AsyncIterable<Uint8Array>, ended: () => void): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch {
      // The reason for the end does not matter.
    } finally {
      ended()
    }
    yield ANSWERED
  }

  async *#bounded(answer: HttpAnswer, call: HttpCall, patience: Deadline): AsyncGenerator<Uint8Array> {
    const { answerBytes, idleMs } = this.#options.limits
    const weight = new JsonWeight()
    try {
      if (!isLasting(call)) patience.expect(idleMs)
      for await (const chunk of answer.body) {
        if (!isLasting(call)) patience.expect(idleMs)
        if (call.id !== undefined) this.#listener?.came(call.id)
        weight.add(chunk)
        if (weight.total > answerBytes)
          throw new Overlong(`${this.#what}: an answer is over ${answerBytes} bytes`, weight.bytes)
        yield chunk
      }
    } catch (cause) {
      const why = patience.explain(cause)
      // The SDK swallows errors of an event stream.
      if (call.id !== undefined && why instanceof SyncError) this.#listener?.failed(call.id, why)
      throw why
    } finally {
      patience.stop()
    }
  }
}

/** Yields whole lines, because the event parser rescans a partial line whenever more of it arrives. */
async function* inWholeLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun: Uint8Array[] = []
  for await (const chunk of body) {
    begun.push(chunk)
    if (!chunk.includes(LINE_FEED) && !chunk.includes(RETURN)) continue
    yield Buffer.concat(begun)
    begun = []
  }
  yield Buffer.concat(begun)
}

const [LINE_FEED, RETURN] = [0x0a, 0x0d]

function isOver({ status }: HttpAnswer, { headers }: HttpCall): boolean {
  return status === 404 && headers['mcp-session-id'] !== undefined
}

/**
 * True for a 400 with a session. Servers built after the examples of the SDK report an unknown session so, with an
 * error without a request id.
 */
function isUnknownSession({ status }: HttpAnswer, { headers, rpc }: HttpCall): boolean {
  return status === 400 && headers['mcp-session-id'] !== undefined && rpc !== 'initialize'
}

const ANSWERING: ReadonlySet<number> = new Set([400, 404])
const METHOD_NOT_ALLOWED = 405
const ANSWERED = Buffer.from('\n\ndata: {"jsonrpc":"2.0","id":"none","result":{}}\n\n')

/** The parts of a request by the SDK's transport that matter for its exchange. */
interface HttpCall {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  readonly signal: AbortSignal
  /** The id of the JSON-RPC request in the body; `undefined` if there is none. */
  readonly id: string | number | undefined
  /** The method of the request or notification. */
  readonly rpc: string | undefined
  /** True if it opens the stream for messages that the server initiates. */
  readonly isServerStream: boolean
}

function callOf(url: string, init: RequestInit): HttpCall {
  const method = init.method ?? 'GET'
  const headers = Object.fromEntries(new Headers(init.headers))
  const text = typeof init.body === 'string' ? init.body : undefined
  const message = text === undefined ? undefined : readMessage(JSON.parse(text))
  return {
    url,
    method,
    headers,
    body: text === undefined ? undefined : Buffer.from(text),
    signal: init.signal ?? new AbortController().signal,
    id: message?.kind === 'request' ? message.id : undefined,
    rpc: message?.kind === 'request' ? message.method : message?.kind === 'notice' ? message.notice.method : undefined,
    // With a last event id, it resumes the answer to a request.
    isServerStream: method === 'GET' && headers['last-event-id'] === undefined,
  }
}

/** True if the stream delivers events as they happen, so that silence is normal. */
function isLasting({ method, rpc }: HttpCall): boolean {
  return method === 'GET' || rpc === 'subscriptions/listen'
}

/** The timer of one exchange: a timeout ends the exchange with a reason. */
class Deadline {
  /** Aborted with the caller's signal or by a timeout. */
  readonly signal: AbortSignal
  readonly #what: string
  readonly #caller: AbortSignal
  readonly #over = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #why: SyncError | undefined

  constructor(what: string, caller: AbortSignal) {
    this.#what = what
    this.#caller = caller
    this.signal = AbortSignal.any([caller, this.#over.signal])
  }

  /** Starts the timeout for the next byte. */
  expect(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#why = new Unanswered(`${this.#what}: nothing came within ${ms} ms`)
      this.#over.abort()
    }, ms)
  }

  /** Stops the timeout, because the byte came. */
  rest(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the exchange at any stage. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#over.abort()
  }

  /**
   * Returns the real reason for an error of the exchange: the caller's abort, the timeout, or the connection's failure.
   */
  explain(cause: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason
    if (this.#why !== undefined) return this.#why
    return cause instanceof SyncError ? cause : connectionFailure(cause, this.#what)
  }
}
