import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId } from '@modelcontextprotocol/server'
import { isObject } from '../../../../base/json-object.ts'
import { ANSWERED } from '../../core/audit-message.ts'
import type { Tell } from '../../core/audit-message.ts'
import type { Era } from '../../rpc/caller.ts'
import { inRevision, negotiatedIn } from '../../rpc/revision.ts'
import { cancelledBy, idleListenOf } from './listen.ts'

interface Waiting {
  /** The client's own id. */
  readonly id: RequestId
  readonly method: string
  readonly tell: Tell
}

/**
 * The requests of one client in flight, each under an id of our own. A client may reuse an id before the first request
 * is answered; code that goes by the client's id would confuse the two.
 */
export class StdioRequests {
  readonly #tellOf: (request: JSONRPCRequest) => Tell
  readonly #waiting = new Map<RequestId, Waiting>()
  /** The requests without an answer. An acknowledged listen request is not among them: it has what it waited for. */
  readonly #unanswered = new Set<RequestId>()
  readonly #settling = new Set<() => void>()
  /** The negotiated revision; `undefined` before `initialize`, and in the modern era. */
  #revision: string | undefined
  #last = 0

  constructor(tellOf: (request: JSONRPCRequest) => Tell) {
    this.#tellOf = tellOf
  }

  /** Translates a client message to our id; `undefined` if it cancels a request that is not in flight. */
  received(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if (!('method' in message)) return message
    if ('id' in message) return this.#add(message)
    const cancelled = cancelledBy(message)
    return cancelled === undefined ? message : this.#cancel(message, cancelled)
  }

  /**
   * Translates our message to the client's id; `undefined` if its request was cancelled, because it gets no response.
   */
  sent(message: JSONRPCMessage, era: Era): JSONRPCMessage | undefined {
    if ('method' in message) return this.#relabel(message)
    if (message.id === undefined) return message
    const waiting = this.#waiting.get(message.id)
    if (waiting === undefined) return undefined
    waiting.tell(message)
    this.#end(message.id)
    const { id, method } = waiting
    if (method === 'initialize') this.#revision = negotiatedIn(message)
    const asker = { era, revision: this.#revision }
    if ('error' in message) return inRevision({ ...message, id }, asker, method)
    const meta = listenIn(message.result) === undefined ? {} : { _meta: under(id, message.result) }
    return inRevision({ ...message, id, result: { ...message.result, ...meta } }, asker, method)
  }

  /** True if any request waits for its response. */
  get areWaiting(): boolean {
    return this.#unanswered.size > 0
  }

  /** Resolves as soon as no request waits for its response. */
  async settled(): Promise<void> {
    if (!this.areWaiting) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#settling.add(resolve)
    await promise
  }

  /** Ends all requests; their responses are no longer sent. */
  end(): void {
    for (const [id, { tell }] of this.#waiting) {
      tell({ refused: 'the connection ended before it was answered' })
      this.#end(id)
    }
  }

  #add(request: JSONRPCRequest): JSONRPCMessage {
    this.#last += 1
    this.#waiting.set(this.#last, { id: request.id, method: request.method, tell: this.#tellOf(request) })
    this.#unanswered.add(this.#last)
    return { ...request, id: this.#last }
  }

  /** Cancels the youngest if several requests share an id. */
  #cancel(message: JSONRPCNotification, cancelled: RequestId): JSONRPCMessage | undefined {
    const [id, waiting] = [...this.#waiting].findLast(([, { id }]) => id === cancelled) ?? []
    if (id === undefined || waiting === undefined) return undefined
    waiting.tell({ refused: 'the client took it back' })
    this.#end(id)
    return { ...message, params: { ...message.params, requestId: id } }
  }

  #relabel(message: JSONRPCRequest | JSONRPCNotification): JSONRPCMessage | undefined {
    const listen = listenIn(message.params)
    if (listen === undefined) return message
    const waiting = this.#waiting.get(listen)
    if (waiting === undefined) return undefined
    // The first message for a listen request shows that the request was accepted.
    waiting.tell(ANSWERED)
    if (idleListenOf(message) === undefined) this.#settle(listen)
    return { ...message, params: { ...message.params, _meta: under(waiting.id, message.params) } }
  }

  #end(id: RequestId): void {
    this.#waiting.delete(id)
    this.#settle(id)
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id)
    if (this.#unanswered.size > 0) return
    for (const resolve of this.#settling) resolve()
    this.#settling.clear()
  }
}

/** Returns the id of the listen request that a message belongs to. */
function listenIn(params: unknown): RequestId | undefined {
  const meta = isObject(params) ? params['_meta'] : undefined
  const id = isObject(meta) ? meta[SUBSCRIPTION_ID_META_KEY] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** Returns the `_meta` of the message with the given request id. */
function under(id: RequestId, { _meta }: { readonly _meta?: object | undefined } = {}): Record<string, unknown> {
  return { ..._meta, [SUBSCRIPTION_ID_META_KEY]: id }
}
