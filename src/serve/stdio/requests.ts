import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId } from '@modelcontextprotocol/server'
import { isObject } from '../../base/json-object.ts'
import { ANSWERED } from '../mcp/core/audit-message.ts'
import type { Tell } from '../mcp/core/audit-message.ts'
import type { Era } from '../mcp/rpc/caller.ts'
import { withEraCode } from '../mcp/rpc/error-codes.ts'
import { cancelledBy, idleListenOf } from './listen.ts'

interface Waiting {
  /** The client's own. */
  readonly id: RequestId
  readonly method: string
  readonly tell: Tell
}

/**
 * The requests of one client that are on their way, each under an id of ours: a client can use one of its own again before it
 * was answered, and whoever goes by that id takes one request for the other.
 */
export class StdioRequests {
  readonly #tellOf: (request: JSONRPCRequest) => Tell
  readonly #waiting = new Map<RequestId, Waiting>()
  /** Those of them that an answer is still to come to; a listen request that was acknowledged has what it waited for. */
  readonly #unanswered = new Set<RequestId>()
  readonly #settling = new Set<() => void>()
  #last = 0

  constructor(tellOf: (request: JSONRPCRequest) => Tell) {
    this.#tellOf = tellOf
  }

  /** A message of the client under our id; undefined for one that takes back what is not on its way. */
  received(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if (!('method' in message)) return message
    if ('id' in message) return this.#add(message)
    const cancelled = cancelledBy(message)
    return cancelled === undefined ? message : this.#cancel(message, cancelled)
  }

  /** A message of ours under the client's id; undefined for one about a request that was taken back: it has no answer. */
  sent(message: JSONRPCMessage, era: Era): JSONRPCMessage | undefined {
    if ('method' in message) return this.#told(message)
    if (message.id === undefined) return message
    const waiting = this.#waiting.get(message.id)
    if (waiting === undefined) return undefined
    waiting.tell(message)
    this.#end(message.id)
    const { id, method } = waiting
    if ('error' in message) return withEraCode({ ...message, id }, era, method)
    const meta = listenIn(message.result) === undefined ? {} : { _meta: under(id, message.result) }
    return { ...message, id, result: { ...message.result, ...meta } }
  }

  /** Whether an answer is still to come to any. */
  get areWaiting(): boolean {
    return this.#unanswered.size > 0
  }

  /** Resolves once none waits for its answer. */
  async settled(): Promise<void> {
    if (!this.areWaiting) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#settling.add(resolve)
    await promise
  }

  /** Nobody hears of the rest any more. */
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

  /** Of several under one id, the youngest. */
  #cancel(message: JSONRPCNotification, cancelled: RequestId): JSONRPCMessage | undefined {
    const [id, waiting] = [...this.#waiting].findLast(([, { id }]) => id === cancelled) ?? []
    if (id === undefined || waiting === undefined) return undefined
    waiting.tell({ refused: 'the client took it back' })
    this.#end(id)
    return { ...message, params: { ...message.params, requestId: id } }
  }

  #told(message: JSONRPCRequest | JSONRPCNotification): JSONRPCMessage | undefined {
    const listen = listenIn(message.params)
    if (listen === undefined) return message
    const waiting = this.#waiting.get(listen)
    if (waiting === undefined) return undefined
    // The first message that a listen request brings says that there is nothing against it.
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

/** The listen request that a message is for. */
function listenIn(params: unknown): RequestId | undefined {
  const meta = isObject(params) ? params['_meta'] : undefined
  const id = isObject(meta) ? meta[SUBSCRIPTION_ID_META_KEY] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** Its `_meta`, for the request with this id. */
function under(id: RequestId, { _meta }: { readonly _meta?: object | undefined } = {}): Record<string, unknown> {
  return { ..._meta, [SUBSCRIPTION_ID_META_KEY]: id }
}
