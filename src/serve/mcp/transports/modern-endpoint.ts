import type { IncomingMessage, ServerResponse } from 'node:http'
import type { InboundModernRoute, JSONRPCRequest } from '@modelcontextprotocol/server'
import { abortable } from '../../../base/async/abortable.ts'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import { refusalOfStream } from '../../http/server/event-stream.ts'
import type { EventStreams } from '../../http/server/event-stream.ts'
import { NO_STREAM, sendBusy, sendError, sendJson, sendNoStream, sendStatus } from '../../http/server/response.ts'
import type { Principal } from '../../principal.ts'
import type { ViewName } from '../../view.ts'
import { ANSWERED, servedTo } from '../core/audit-message.ts'
import type { Tell } from '../core/audit-message.ts'
import type { Serving } from '../core/methods.ts'
import type { Response } from '../core/multiplexer.ts'
import type { Core } from '../core/scoped-server.ts'
import { MODERN_REVISION } from '../core/sdk-server.ts'
import type { Subscriptions } from '../events/subscriptions.ts'
import type { Caller } from '../rpc/caller.ts'
import { RpcError } from '../rpc/rpc-error.ts'
import { traceIn } from '../rpc/trace.ts'
import type { BatchBounds } from './batch.ts'
import type { MessageAudit } from './http-audit.ts'
import { filterOf, openListenStream } from './listen-stream.ts'
import type { Listening } from './listen-stream.ts'

const HEADER_MISMATCH = -32020
const UNSUPPORTED_REVISION = -32022

export interface ModernEdgeParts {
  readonly core: Core
  readonly serving: Serving
  readonly hub: Subscriptions
  readonly streams: EventStreams
  readonly audit: MessageAudit
  readonly batches: Pick<BatchBounds, 'turns' | 'holderOf'>
  readonly view: ViewName
}

/** The HTTP requirements of revision 2026-07-28 around the core: revision, headers, streams, statuses. */
export class ModernEndpoint {
  readonly #parts: ModernEdgeParts

  constructor(parts: ModernEdgeParts) {
    this.#parts = parts
  }

  async answer(
    route: InboundModernRoute,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal | undefined,
  ): Promise<void> {
    const id = route.messageKind === 'request' ? route.message.id : null
    const { revision } = route.classification
    if (revision !== MODERN_REVISION) return sendUnsupported(response, revision ?? 'unknown', id)
    // A client cancels by closing the connection of the request. No other notification has a meaning here.
    if (route.messageKind === 'notification') return sendStatus(response, 202)
    const tell = this.#parts.audit.message(route.message, request, response, { principal })
    const mismatch = headerMismatch(route.message, request)
    if (mismatch !== undefined) {
      tell({ refused: mismatch })
      return sendError(response, { status: 400, code: HEADER_MISMATCH, message: `Bad Request: ${mismatch}`, id })
    }
    if (route.message.method === 'subscriptions/listen') {
      return this.#listen(
        route.message,
        response,
        { holder: this.#parts.batches.holderOf(request, principal), principal, view: this.#parts.view },
        tell,
      )
    }
    const trace = traceIn(route.message.params, request.headers)
    const { turns, holderOf } = this.#parts.batches
    const holder = holderOf(request, principal)
    const answer = await servedTo(tell, disconnectSignal(response), async (signal) => {
      const turn: Caller['turn'] = () => turns.goOn(holder, () => signal)
      const caller = { era: 'modern', holder, turn, ...(principal && { principal }), ...(trace && { trace }) } as const
      return this.#parts.core.serve(route.message, caller, signal)
    })
    sendJson(response, statusOf(answer), answer)
  }

  async #listen(message: JSONRPCRequest, response: ServerResponse, listening: Listening, tell: Tell): Promise<void> {
    const { id } = message
    try {
      const gone = disconnectSignal(response)
      const filter = await abortable(filterOf(message, this.#parts.serving, listening.principal), gone)
      gone.throwIfAborted()
      // From here on in one turn: the filter must match the catalog served in it.
      const refusal = this.#refusalOf(id, response, listening)
      if (refusal !== undefined) return tell({ refused: refusal })
      openListenStream(message, filter, response, { ...this.#parts, ...listening })
      tell(ANSWERED)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      tell({ error })
      sendError(response, { status: 200, code: error.code, message: error.message, id, data: error.data })
    }
  }

  /** Rejects a client that gets no stream, and returns the reason; `undefined` if nothing prevents a stream. */
  #refusalOf(id: JSONRPCRequest['id'], response: ServerResponse, { holder }: Listening): string | undefined {
    const refusal = refusalOfStream(response)
    if (refusal !== undefined) {
      sendError(response, { status: 400, code: -32000, message: refusal, id })
      return refusal
    }
    // The view was dropped while the request was in flight, so no notification would arrive here.
    if (this.#parts.hub.isOver) {
      sendBusy(response, id)
      return 'its packs were let go'
    }
    if (this.#parts.streams.hasRoomFor(holder)) return undefined
    sendNoStream(response, id)
    return NO_STREAM
  }
}

/** Refuses a revision that is not served, and names the one that a client without a session can have. */
export function sendUnsupported(response: ServerResponse, requested: string, id: string | number | null): void {
  const data = { supported: [MODERN_REVISION], requested }
  const message = `Unsupported protocol version: ${requested}`
  sendError(response, { status: 400, code: UNSUPPORTED_REVISION, message, id, data })
}

/** The errors that the revision maps to a status of their own. All others are sent with 200. */
function statusOf(answer: Response): number {
  if (!('error' in answer)) return 200
  switch (answer.error.code) {
    case -32601:
      return 404
    case HEADER_MISMATCH:
    case -32021:
    case UNSUPPORTED_REVISION:
      return 400
    default:
      return 200
  }
}

/** The field of the params that the `Mcp-Name` header repeats (SEP-2243, standard request headers). */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** The SDK compares the headers that are present. This checks that they are present, and checks `Mcp-Name`. */
function headerMismatch(message: JSONRPCRequest, request: IncomingMessage): string | undefined {
  for (const name of ['mcp-protocol-version', 'mcp-method']) {
    if (request.headers[name] === undefined) return `the header ${name} is missing`
  }
  const field = NAMED_BY.get(message.method)
  if (field === undefined) return undefined
  const header = request.headers['mcp-name']
  const name = typeof header === 'string' ? decodedHeader(header) : undefined
  if (header !== undefined && name === undefined) return 'the header mcp-name is not well formed'
  const value = message.params?.[field]
  if (typeof value !== 'string') return undefined
  if (header === undefined) return 'the header mcp-name is missing'
  return name === value ? undefined : 'the header mcp-name and the body disagree'
}

/**
 * Decodes a header in the form `=?base64?…?=`, used for values that no header can carry. `undefined` if it is
 * malformed.
 */
function decodedHeader(header: string): string | undefined {
  const value = header.trim()
  if (!value.startsWith('=?base64?')) return value
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)?.[1]
  if (encoded === undefined || encoded.length % 4 !== 0) return undefined
  return Buffer.from(encoded, 'base64').toString('utf8')
}
