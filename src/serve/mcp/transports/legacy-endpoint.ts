import type { IncomingMessage, ServerResponse } from 'node:http'
import { SUPPORTED_PROTOCOL_VERSIONS, isInitializeRequest, isJSONRPCRequest } from '@modelcontextprotocol/server'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import { EventStream, refusalOfStream } from '../../http/server/event-stream.ts'
import type { EventStreams } from '../../http/server/event-stream.ts'
import { sendError, sendJson, sendJsonPieces, sendNoStream, sendStatus } from '../../http/server/response.ts'
import { isOver } from '../../principal.ts'
import type { Principal } from '../../principal.ts'
import { servedTo } from '../core/audit-message.ts'
import type { Tell } from '../core/audit-message.ts'
import type { Response } from '../core/multiplexer.ts'
import { isPlainlyAsked, textAnswer } from '../core/response-cache.ts'
import type { ResponseCache } from '../core/response-cache.ts'
import type { Core } from '../core/scoped-server.ts'
import { partsOpenTo } from '../events/list-kinds.ts'
import type { Caller } from '../rpc/caller.ts'
import { clientNameIn } from '../rpc/client-name.ts'
import { negotiatedIn, servedRevision } from '../rpc/revision.ts'
import { INVALID_PARAMS, RpcError } from '../rpc/rpc-error.ts'
import { traceIn } from '../rpc/trace.ts'
import { answerBatch, piecesOf } from './batch.ts'
import type { RpcAnswer, BatchBounds, BatchServer } from './batch.ts'
import { GuestSession } from './guest-session.ts'
import type { NotBrought } from './guest-sessions.ts'
import type { MessageAudit } from './http-audit.ts'
import { Session } from './session.ts'
import type { SessionsOfView } from './sessions.ts'

export const SESSION_HEADER = 'mcp-session-id'

export interface LegacyEdgeParts {
  readonly core: Core
  readonly sessions: SessionsOfView
  readonly streams: EventStreams
  readonly audit: MessageAudit
  readonly answers: ResponseCache
  readonly batches: BatchBounds
}

/**
 * The HTTP requirements of revision 2025-11-25 and earlier around the core: sessions, and a stream for each session.
 */
export class LegacyEndpoint {
  readonly #parts: LegacyEdgeParts

  constructor(parts: LegacyEdgeParts) {
    this.#parts = parts
  }

  async answer(
    body: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    if (isJSONRPCRequest(body) && body.method === 'initialize')
      return this.#initialize(body, request, response, principal)
    const session = this.#sessionOf(request, response, principal)
    if (session === undefined) return
    const messages = Array.isArray(body) ? body : [body]
    const requests = messages.filter((message) => isJSONRPCRequest(message))
    if (requests.some(({ method }) => method === 'initialize'))
      return sendError(response, { status: 400, code: -32600, message: '`initialize` cannot be part of a batch' })
    // Notifications and responses need no response, and the server never sends requests to the client.
    const [first] = requests
    if (first === undefined) return sendStatus(response, 202)
    const signal = disconnectSignal(response)
    const asking = { session, principal, signal }
    const asker = { principal, client: session.client }
    const tellOf = (message: JSONRPCRequest): Tell => this.#parts.audit.message(message, request, response, asker)
    const serve: BatchServer['serve'] = async (message, goesOut) =>
      servedTo(tellOf(message), signal, async () => goesOut(await this.#answer(message, request, asking)))
    const { turns, holderOf } = this.#parts.batches
    const turn: BatchServer['turn'] = () => turns.begin(holderOf(request, principal), () => signal)
    const unserved = (message: JSONRPCRequest, why: string): void => tellOf(message)({ refused: why })
    const answer = Array.isArray(body)
      ? await answerBatch(requests, { serve, turn, unserved }, this.#parts.batches, signal)
      : piecesOf(await serve(first, (answer) => answer))
    if (requests.some(({ method }) => PROMISING.has(method))) await session.written
    sendJsonPieces(response, 200, answer)
  }

  /**
   * Brings the session of the request, if another process of the hub may have it; `undefined` if not. Resolves to true if
   * the request was answered, because that is not possible now.
   */
  bring(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
    forStream = false,
  ): Promise<boolean> | undefined {
    const id = request.headers[SESSION_HEADER]
    const { sessions } = this.#parts
    if (typeof id !== 'string' || !sessions.isToBring(id, forStream)) return undefined
    return sessions.bring(id, principal?.id, forStream).then((why) => {
      if (why !== undefined) sendNotBrought(response, why)
      return why !== undefined || response.destroyed
    })
  }

  /** GET: opens the stream of a session's notifications. */
  async openStream(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    // A request that cannot have a stream does not take the session from the process that has it.
    const isTaken = acceptsEvents(request) && refusalOfStream(response) === undefined
    if ((await this.bring(request, response, principal, isTaken)) === true) return
    const session = this.#sessionOf(request, response, principal)
    if (session === undefined) return
    if (!acceptsEvents(request))
      return sendError(response, { status: 406, code: -32000, message: 'The client must accept text/event-stream' })
    const refusal = refusalOfStream(response)
    if (refusal !== undefined) return sendError(response, { status: 400, code: -32000, message: refusal })
    // The stream before may be dead without a sign of it here: a hop on the way can keep its connection open.
    const replaced = session instanceof Session ? session.leaveStream() : undefined
    if (replaced !== undefined) this.#parts.streams.end(replaced)
    const holder = this.#parts.batches.holderOf(request, principal)
    if (!this.#parts.streams.hasRoomFor(holder)) return sendNoStream(response)
    // Another request for its stream, at another process, has taken it away again.
    if (session instanceof GuestSession) return sendNotBrought(response, 'away')
    const headers = { [SESSION_HEADER]: String(request.headers[SESSION_HEADER]) }
    const idOf = (json: string): string => session.sent.add(json)
    const stream = new EventStream(response, headers, this.#parts.streams.pendingBytes, idOf)
    this.#parts.streams.add(stream, () => {}, { holder, principal, view: session.view })
    // The first bytes show the client that no proxy buffers them.
    stream.keepAlive()
    const lastEvent = request.headers['last-event-id']
    session.listenOn(stream, partsOpenTo(principal), typeof lastEvent === 'string' ? lastEvent : undefined)
    stream.onClose(() => this.#parts.sessions.use(session))
  }

  /** DELETE: ends the session for its client. */
  async endSession(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    if ((await this.bring(request, response, principal)) === true) return
    const session = this.#sessionOf(request, response, principal)
    if (session === undefined) return
    this.#parts.sessions.close(session)
    await session.written
    sendStatus(response, 200)
  }

  async #initialize(
    message: JSONRPCRequest,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    if (!isInitializeRequest(message)) {
      const why = '`initialize` names a protocolVersion, capabilities and clientInfo'
      return sendError(response, { status: 400, code: INVALID_PARAMS, message: why, id: message.id })
    }
    const opened = this.#parts.sessions.open(principal?.id, this.#parts.batches.holderOf(request, undefined))
    if (opened === undefined) {
      return sendError(response, {
        status: 503,
        code: -32000,
        message: NO_SESSION,
        id: message.id,
        headers: { 'retry-after': '30' },
      })
    }
    const { id, session } = opened
    const signal = disconnectSignal(response)
    let isOpen = false
    try {
      const tell = this.#parts.audit.message(message, request, response, { principal })
      const answer = await servedTo(tell, signal, async () =>
        this.#serve(message, request, { session, principal, signal }),
      )
      session.client = clientNameIn(message.params)
      session.revision = negotiatedIn(answer)
      if ('result' in answer) session.keep()
      await session.written
      isOpen = 'result' in answer && !signal.aborted
      sendJson(response, 200, answer, isOpen ? { [SESSION_HEADER]: id } : {})
    } finally {
      // A client that was refused, or that left in the meantime, never learns the id.
      if (!isOpen) this.#parts.sessions.close(session)
    }
  }

  /**
   * Uses the serialized text if it exists: to serialize a large response for each message of a batch would block others
   * too long.
   */
  async #answer(message: JSONRPCRequest, request: IncomingMessage, asking: Asking): Promise<RpcAnswer> {
    const { id, method, params = {} } = message
    if (!isPlainlyAsked(method, params) || isOver(asking.principal)) return this.#serve(message, request, asking)
    try {
      const result = await this.#parts.answers.resultOf(method, params, this.#callerOf(message, request, asking))
      return result === undefined ? await this.#serve(message, request, asking) : textAnswer(id, result)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const { code, data } = error
      return { jsonrpc: '2.0', id, error: { code, message: error.message, data } }
    }
  }

  async #serve(message: JSONRPCRequest, request: IncomingMessage, asking: Asking): Promise<Response> {
    // A batch can run long enough for its token to be revoked.
    if (isOver(asking.principal)) {
      return { jsonrpc: '2.0', id: message.id, error: { code: -32000, message: 'The token is not valid' } }
    }
    return this.#parts.core.serve(message, this.#callerOf(message, request, asking), asking.signal)
  }

  #callerOf(message: JSONRPCRequest, request: IncomingMessage, { session, principal, signal }: Asking): Caller {
    const trace = traceIn(message.params, request.headers)
    const { turns } = this.#parts.batches
    const holder = this.#parts.batches.holderOf(request, principal)
    return {
      era: 'legacy',
      revision: servedRevision(session.revision, request.headers['mcp-protocol-version']),
      subscriptions: session,
      holder,
      turn: () => turns.goOn(holder, () => signal),
      ...(principal && { principal }),
      ...(trace && { trace }),
    }
  }

  #sessionOf(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Session | GuestSession | undefined {
    const version = request.headers['mcp-protocol-version']
    if (typeof version === 'string' && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ')
      sendError(response, {
        status: 400,
        code: -32000,
        message: `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`,
      })
      return undefined
    }
    const id = request.headers[SESSION_HEADER]
    const session = typeof id === 'string' ? this.#parts.sessions.find(id, principal?.id) : undefined
    if (typeof id !== 'string')
      sendError(response, { status: 400, code: -32000, message: 'Bad Request: Mcp-Session-Id header is required' })
    else if (session === undefined) sendError(response, { status: 404, code: -32001, message: 'Session not found' })
    return session
  }
}

/** The methods whose answers promise what must be stored first. No other answer waits for the store. */
const PROMISING: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe'])

const NO_SESSION =
  'All sessions are in use, and this client has its share of them: end one (DELETE), or close a stream, and try again'

/** Sends 503 rather than 404: the client would give the session up otherwise. */
function sendNotBrought(response: ServerResponse, why: NotBrought): void {
  const message = why === 'full' ? NO_SESSION : 'The session cannot be looked up now; try again'
  const headers = { 'retry-after': why === 'full' ? '30' : '1' }
  sendError(response, { status: 503, code: -32000, message, headers })
}

/** The session, principal and signal of a request. */
interface Asking {
  readonly session: Session | GuestSession
  readonly principal: Principal | undefined
  readonly signal: AbortSignal
}

function acceptsEvents(request: IncomingMessage): boolean {
  const accept = request.headers.accept ?? '*/*'
  return accept.includes('text/event-stream') || accept.includes('*/*') || accept.includes('text/*')
}
