import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { RequestScheduler } from '../../http/server/request-scheduler.ts'
import { sendError } from '../../http/server/response.ts'
import type { ShareHolderOf } from '../../http/server/share-holder.ts'
import type { Principal } from '../../principal.ts'
import { UNWAITED } from '../core/audit-message.ts'
import type { Response } from '../core/multiplexer.ts'
import type { TextAnswer } from '../core/response-cache.ts'
import { INTERNAL_ERROR } from '../rpc/rpc-error.ts'

/** Limit of messages in one batch. Only revision 2025-03-26 has batches. */
const MAX_BATCH = 100

/**
 * Limit of the responses of one batch together: a hundred reads of the largest files exceed the maximum string length
 * of V8.
 */
const MAX_ANSWER_BYTES = 64 * 2 ** 20

/** The limits of batches: the message rate and the time for one batch. */
export interface BatchBounds {
  readonly rate: RateLimit | undefined
  readonly holderOf: ShareHolderOf
  readonly turns: Pick<RequestScheduler, 'begin' | 'goOn'>
  readonly batchMs: number
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
}

/** A request over HTTP with its client. */
export interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly principal: Principal | undefined
}

/**
 * Rejects a batch over the maximum length or over its client's rate before any message is served. Returns true if it
 * does. The HTTP request is already counted, as the first message.
 */
export function refuseBatch(
  { length }: readonly unknown[],
  { rate, holderOf }: Pick<BatchBounds, 'rate' | 'holderOf'>,
  { request, response, principal }: HttpExchange,
): boolean {
  const most = Math.min(MAX_BATCH, rate?.most ?? MAX_BATCH)
  if (length > most) {
    const why = most < MAX_BATCH ? ': each counts against limits.http.rate' : ''
    sendError(response, { status: 400, code: -32600, message: `A batch holds at most ${most} messages${why}` })
    return true
  }
  const waitS = length > 1 ? rate?.take(holderOf(request, principal), length - 1) : undefined
  if (waitS === undefined) return false
  const message = `Too many requests: a batch counts as the ${length} messages that it holds`
  sendError(response, { status: 429, code: -32000, message, headers: { 'retry-after': String(waitS) } })
  return true
}

/** A response, or its serialized text if that exists. */
export type RpcAnswer = Response | TextAnswer

/** The JSON of a response, in pieces. */
export function piecesOf(answer: RpcAnswer): readonly Uint8Array[] {
  return 'text' in answer ? answer.text : [Buffer.from(JSON.stringify(answer))]
}

/** Serves the requests of a batch. */
export interface BatchServer {
  /**
   * Serves one request, and audits what `goesOut` returns: the batch decides what is sent as soon as there is a
   * response.
   */
  readonly serve: (request: JSONRPCRequest, goesOut: (answer: RpcAnswer) => RpcAnswer) => Promise<RpcAnswer>
  /** Resolves at the client's turn among other clients; `undefined` if it need not wait. */
  readonly turn?: () => Promise<void> | undefined
  /** Called for each request that is not served. */
  readonly unserved: (request: JSONRPCRequest, why: string) => void
}

/**
 * Returns the responses to a batch as one JSON text in pieces. They are built one after another, so that memory holds
 * only the text and one response. Other clients are served in between. If the text becomes too large, the request that
 * exceeds the limit and all later ones are refused without being served. The same holds for requests after the time
 * limit. The signal aborts the batch.
 */
export async function answerBatch(
  requests: readonly JSONRPCRequest[],
  { serve, turn, unserved }: BatchServer,
  { batchMs, now }: Pick<BatchBounds, 'batchMs' | 'now'>,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const batch = new BatchAnswer()
  const endMs = now() + batchMs
  const rest = (from: number, why: string): void => {
    for (const request of requests.slice(from)) unserved(request, why)
  }
  for (const [index, request] of requests.entries()) {
    // A turn of the event loop, in which the client may have left.
    if (index > 0) await setImmediate()
    await turn?.()
    if (signal.aborted) {
      rest(index, UNWAITED)
      throw signal.reason
    }
    const why = batch.isFull ? TOO_LARGE : now() > endMs ? TOO_LONG : undefined
    if (why !== undefined) {
      unserved(request, why)
      batch.refuse(request, why)
      continue
    }
    try {
      await serve(request, (answer) => batch.add(request, answer))
    } catch (error) {
      // The server of a request audits its failure too.
      rest(index + 1, signal.aborted ? UNWAITED : 'one before it in its batch was not answered')
      throw error
    }
  }
  return batch.pieces
}

class BatchAnswer {
  readonly #answers: Uint8Array[] = []
  #bytes = 0

  get isFull(): boolean {
    return this.#bytes > MAX_ANSWER_BYTES
  }

  get pieces(): readonly Uint8Array[] {
    return [...this.#answers, Buffer.from(']')]
  }

  /** Adds a response. Returns the response that is sent. */
  add(request: JSONRPCRequest, answer: RpcAnswer): RpcAnswer {
    const pieces = piecesOf(answer)
    this.#bytes += pieces.reduce((sum, { byteLength }) => sum + byteLength, 1)
    if (this.isFull) return this.refuse(request, TOO_LARGE)
    this.#put(pieces)
    return answer
  }

  refuse({ id }: JSONRPCRequest, message: string): Response {
    const refusal = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } } as const
    this.#put(piecesOf(refusal))
    return refusal
  }

  #put(pieces: readonly Uint8Array[]): void {
    this.#answers.push(Buffer.from(this.#answers.length === 0 ? '[' : ','), ...pieces)
  }
}

const TOO_LARGE = "The batch's answer is too large; send this request alone"
const TOO_LONG = 'The batch takes longer than a request may; send this request alone'
