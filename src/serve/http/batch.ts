import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { Response } from '../mcp/multiplexer.ts'
import { INTERNAL_ERROR } from '../mcp/rpc-error.ts'

/** What the answers of one batch may take together: a hundred reads of the largest files are more than V8 has strings for. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20

/** Serves the requests of a batch. */
export interface BatchServer {
  /** Serves it, and tells of what goes out: what that is, the batch says once there is an answer. */
  readonly serve: (request: JSONRPCRequest, goesOut: (answer: Response) => Response) => Promise<Response>
  /** Is told of each request that is not served. */
  readonly unserved: (request: JSONRPCRequest, why: string) => void
}

/**
 * The answers to a batch as one JSON text, made one after another: what is held is the text, and one answer. Once it would
 * be too large, the request that made it so is refused, and so is each one after it, without being served.
 */
export async function answerBatch(
  requests: readonly JSONRPCRequest[],
  { serve, unserved }: BatchServer,
): Promise<string> {
  const batch = new BatchAnswer()
  try {
    for (const request of requests) {
      if (!batch.isFull) await serve(request, (answer) => batch.add(request, answer))
      else {
        unserved(request, TOO_LARGE)
        batch.refuse(request)
      }
    }
  } catch (error) {
    // Who serves one tells of it also where that fails.
    for (const request of requests.slice(batch.length + 1))
      unserved(request, 'one before it in its batch was not answered')
    throw error
  }
  return batch.text
}

class BatchAnswer {
  readonly #answers: string[] = []
  #bytes = 0

  get isFull(): boolean {
    return this.#bytes > MAX_ANSWER_BYTES
  }

  get length(): number {
    return this.#answers.length
  }

  get text(): string {
    return `[${this.#answers.join(',')}]`
  }

  /** Says what goes out for it. */
  add(request: JSONRPCRequest, answer: Response): Response {
    const text = JSON.stringify(answer)
    this.#bytes += Buffer.byteLength(text)
    if (this.isFull) return this.refuse(request)
    this.#answers.push(text)
    return answer
  }

  refuse({ id }: JSONRPCRequest): Response {
    const refusal = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: TOO_LARGE } } as const
    this.#answers.push(JSON.stringify(refusal))
    return refusal
  }
}

const TOO_LARGE = "The batch's answer is too large; ask for it alone"
