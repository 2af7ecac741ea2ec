import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import { sendError, sendJsonPieces } from '../../http/server/response.ts'
import type { Principal } from '../../principal.ts'
import { ANSWERED } from '../core/audit-message.ts'
import { isPlainlyAsked, textAnswer } from '../core/response-cache.ts'
import type { ResponseCache } from '../core/response-cache.ts'
import type { Caller } from '../rpc/caller.ts'
import { RpcError } from '../rpc/rpc-error.ts'
import { traceIn } from '../rpc/trace.ts'
import type { BatchBounds } from './batch.ts'
import type { MessageAsker, MessageAudit } from './http-audit.ts'
import { SESSION_HEADER } from './legacy-endpoint.ts'
import type { PlainRequest } from './plain-requests.ts'
import type { SessionsOfView } from './sessions.ts'

/**
 * The path past the core, for a plain request whose response exists as text. A request that an endpoint would reject
 * goes to that endpoint.
 */
export class FastPath {
  readonly #answers: ResponseCache
  readonly #sessions: SessionsOfView
  readonly #audit: MessageAudit
  readonly #turns: Pick<BatchBounds, 'turns' | 'holderOf'>

  constructor(
    answers: ResponseCache,
    sessions: SessionsOfView,
    audit: MessageAudit,
    turns: Pick<BatchBounds, 'turns' | 'holderOf'>,
  ) {
    this.#answers = answers
    this.#sessions = sessions
    this.#audit = audit
    this.#turns = turns
  }

  /** Returns true if the request was answered. If false, nothing was done. */
  async answer(
    plain: PlainRequest,
    principal: Principal | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    const { era, method, params } = plain
    const asker = isPlainlyAsked(method, params) ? this.#askerOf(plain, principal, request.headers) : undefined
    if (asker === undefined) return false
    const tell = this.#audit.message(plain.message, request, response, asker)
    const trace = traceIn(plain.message.params, request.headers)
    const { turns, holderOf } = this.#turns
    const turn: Caller['turn'] = () => turns.goOn(holderOf(request, principal), () => disconnectSignal(response))
    const caller = { era, turn, ...(principal && { principal }), ...(trace && { trace }) }
    try {
      const result = await this.#answers.resultOf(method, params, caller)
      // The core audits the requests that it handles.
      if (result === undefined) return false
      tell(ANSWERED)
      sendJsonPieces(response, 200, textAnswer(plain.id, result).text)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      tell({ error })
      sendError(response, { status: 200, code: error.code, message: error.message, id: plain.id, data: error.data })
    }
    return true
  }

  /** `undefined` if an endpoint would reject the request. */
  #askerOf(
    { era, method, params }: PlainRequest,
    principal: Principal | undefined,
    headers: IncomingHttpHeaders,
  ): MessageAsker | undefined {
    if (era === 'modern')
      return method === 'resources/read' && headers['mcp-name'] !== params['uri'] ? undefined : { principal }
    const id = headers[SESSION_HEADER]
    const session = typeof id === 'string' ? this.#sessions.find(id, principal?.id) : undefined
    return session && { principal, client: session.client }
  }
}
