import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { TextAnswer } from '../../mcp/core/response-cache.ts'
import { UNWAITED } from '../../mcp/core/audit-message.ts'
import type { Response } from '../../mcp/core/multiplexer.ts'
import { INTERNAL_ERROR } from '../../mcp/rpc/rpc-error.ts'
import type { Principal } from '../../principal.ts'
import type { HolderOf } from '../server/share-holder.ts'
import type { RateLimit } from '../access/rate-limit.ts'
import type { RequestTurns } from '../server/request-scheduler.ts'
import { sendError } from '../server/response.ts'

/** A batch is a thing of 2025-03-26; so many messages may come in one. */
const MAX_BATCH = 100

/** What the answers of one batch may take together: a hundred reads of the largest files are more than V8 has strings for. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20

/** The bounds of batches: how often their messages may come, and how long one is served. */
export interface BatchBounds {
  readonly rate: RateLimit | undefined
  readonly holderOf: HolderOf
  readonly turns: Pick<RequestTurns, 'begin' | 'goOn'>
  readonly batchMs: number
  /** Milliseconds that only ever go up. */
  readonly now: () => number
}

/**
 * Refuses a batch that is longer than any may be, or than its client's rate has room for, before anything of it is served. Says
 * whether it does. The request that brought it is counted already, as its first message.
 */
export function refuseBatch(
  { length }: readonly unknown[],
  { rate, holderOf }: Pick<BatchBounds, 'rate' | 'holderOf'>,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal | undefined,
): boolean {
  const most = Math.min(MAX_BATCH, rate?.most ?? MAX_BATCH)
  if (length > most) {
    const why = most < MAX_BATCH ? ': each counts against limits.http.rate' : ''
    sendError(response, 400, -32600, `A batch holds at most ${most} messages${why}`)
    return true
  }
  const waitS = length > 1 ? rate?.take(holderOf(request, principal), length - 1) : undefined
  if (waitS === undefined) return false
  const message = `Too many requests: a batch counts as the ${length} messages that it holds`
  sendError(response, 429, -32000, message, { headers: { 'retry-after': String(waitS) } })
  return true
}

/** An answer, or its text where that is there. */
export type Answer = Response | TextAnswer

/** The JSON of an answer, in pieces. */
export function piecesOf(answer: Answer): readonly Uint8Array[] {
  return 'text' in answer ? answer.text : [Buffer.from(JSON.stringify(answer))]
}

/** Serves the requests of a batch. */
export interface BatchServer {
  /** Serves it, and tells of what goes out: what that is, the batch says once there is an answer. */
  readonly serve: (request: JSONRPCRequest, goesOut: (answer: Answer) => Answer) => Promise<Answer>
  /** Resolves when it is the client's turn among others; undefined where it is now. */
  readonly turn?: () => Promise<void> | undefined
  /** Is told of each request that is not served. */
  readonly unserved: (request: JSONRPCRequest, why: string) => void
}

/**
 * The answers to a batch as one JSON text in pieces, made one after another: what is held is the text, and one answer. Others are
 * served between two of them. Once it would be too large, the request that made it so is refused, and so is each one after it,
 * without being served; likewise those that its time does not suffice for. The signal ends it.
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
    // A turn of the loop, in which this client may have left.
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
      // Who serves one tells of it also where that fails.
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

  /** Says what goes out for it. */
  add(request: JSONRPCRequest, answer: Answer): Answer {
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

const TOO_LARGE = "The batch's answer is too large; ask for it alone"
const TOO_LONG = 'The batch takes longer than limits.http.request_timeout; ask for it alone'
