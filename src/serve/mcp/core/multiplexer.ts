import { PerRequestHTTPServerTransport } from '@modelcontextprotocol/server'
import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  MessageClassification,
  RequestId,
  Transport,
} from '@modelcontextprotocol/server'
import type { Caller, Era } from '../rpc/caller.ts'
import { inRevision } from '../rpc/revision.ts'
import { MODERN_REVISION } from './sdk-server.ts'

/** The response to one request. */
export type Response = JSONRPCResultResponse | JSONRPCErrorResponse

/**
 * One transport for all requests of one era. A server of the SDK binds to a single transport. One server per request
 * would cost several times as much as the response. Each request has an id of our own, so that equal ids of callers
 * never collide.
 */
export interface Multiplexer {
  readonly transport: Transport
  /** Serves one request. Rejects when the signal aborts. */
  serve(request: JSONRPCRequest, caller: Caller, signal: AbortSignal): Promise<Response>
  /** Returns the caller of the request with this id. */
  callerOf(id: RequestId): Caller
}

interface Waiting {
  readonly request: JSONRPCRequest
  readonly caller: Caller
  readonly answer: (response: Response) => void
}

/** Requests in flight, under our own ids. */
class Requests {
  readonly #waiting = new Map<RequestId, Waiting>()
  #last = 0

  add(waiting: Waiting): number {
    this.#last += 1
    this.#waiting.set(this.#last, waiting)
    return this.#last
  }

  drop(id: RequestId): void {
    this.#waiting.delete(id)
  }

  callerOf(id: RequestId): Caller {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) throw new Error(`No request travels under the id ${id}`)
    return waiting.caller
  }

  settle(message: JSONRPCMessage): void {
    if (!('result' in message) && !('error' in message)) return
    const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id)
    if (waiting === undefined || message.id === undefined) return
    this.#waiting.delete(message.id)
    const response = { ...message, id: waiting.request.id }
    waiting.answer(inRevision(response, waiting.caller, waiting.request.method))
  }
}

type Deliver = (
  message: JSONRPCRequest | JSONRPCNotification,
  classification: MessageClassification | undefined,
) => void

function multiplex(
  transport: Transport,
  requests: Requests,
  deliver: Deliver,
  classification: MessageClassification | undefined,
): Multiplexer {
  return {
    transport,
    callerOf: (id) => requests.callerOf(id),
    async serve(request, caller, signal) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<Response>()
      const id = requests.add({ request, caller, answer: resolve })
      const cancel = (): void => {
        requests.drop(id)
        deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }, classification)
        reject(signal.reason)
      }
      signal.addEventListener('abort', cancel, { once: true })
      try {
        deliver({ ...request, id }, classification)
        return await promise
      } finally {
        signal.removeEventListener('abort', cancel)
      }
    },
  }
}

/** This class binds a server to the modern revision. Its single exchange is not used. */
class ModernTransport extends PerRequestHTTPServerTransport {
  readonly #requests: Requests

  constructor(requests: Requests) {
    super({ classification: MODERN })
    this.#requests = requests
  }

  override async start(): Promise<void> {}
  override async close(): Promise<void> {}

  override async send(message: JSONRPCMessage): Promise<void> {
    this.#requests.settle(message)
  }
}

class LegacyTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #requests: Requests

  constructor(requests: Requests) {
    this.#requests = requests
  }

  async start(): Promise<void> {}
  async close(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#requests.settle(message)
  }
}

const MODERN: MessageClassification = { era: 'modern', revision: MODERN_REVISION }

/** Creates the multiplexer for the servers of one era. */
export function multiplexerFor(era: Era): Multiplexer {
  const requests = new Requests()
  const transport = era === 'modern' ? new ModernTransport(requests) : new LegacyTransport(requests)
  const deliver: Deliver = (message, classification) =>
    transport.onmessage?.(message, classification === undefined ? undefined : { classification })
  return multiplex(transport, requests, deliver, era === 'modern' ? MODERN : undefined)
}
