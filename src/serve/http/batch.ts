import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { Response } from '../mcp/multiplexer.ts'
import { INTERNAL_ERROR } from '../mcp/rpc-error.ts'

/** What the answers of one batch may take together: a hundred reads of the largest files are more than V8 has strings for. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20

/** Serves each request of a batch, or says why it does not. */
export interface BatchServer {
  readonly serve: (request: JSONRPCRequest) => Promise<Response>
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
  const answers: string[] = []
  let bytes = 0
  try {
    for (const request of requests) {
      if (bytes > MAX_ANSWER_BYTES) unserved(request, TOO_LARGE)
      const answer = bytes > MAX_ANSWER_BYTES ? '' : JSON.stringify(await serve(request))
      bytes += Buffer.byteLength(answer)
      answers.push(bytes > MAX_ANSWER_BYTES ? tooLarge(request) : answer)
    }
  } catch (error) {
    // Who serves one tells of it also where that fails.
    for (const request of requests.slice(answers.length + 1))
      unserved(request, 'one before it in its batch was not answered')
    throw error
  }
  return `[${answers.join(',')}]`
}

const TOO_LARGE = "The batch's answer is too large; ask for it alone"

function tooLarge({ id }: JSONRPCRequest): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: TOO_LARGE } })
}
