import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { Response } from '../mcp/multiplexer.ts'
import { INTERNAL_ERROR } from '../mcp/rpc-error.ts'

/** What the answers of one batch may take together: a hundred reads of the largest files are more than V8 has strings for. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20

/**
 * The answers to a batch as one JSON text, made one after another: what is held is the text, and one answer. Once it would
 * be too large, the request that made it so is refused, and so is each one after it, without being served.
 */
export async function answerBatch(
  requests: readonly JSONRPCRequest[],
  serve: (request: JSONRPCRequest) => Promise<Response>,
): Promise<string> {
  const answers: string[] = []
  let bytes = 0
  for (const request of requests) {
    const answer = bytes > MAX_ANSWER_BYTES ? '' : JSON.stringify(await serve(request))
    bytes += Buffer.byteLength(answer)
    answers.push(bytes > MAX_ANSWER_BYTES ? tooLarge(request) : answer)
  }
  return `[${answers.join(',')}]`
}

function tooLarge({ id }: JSONRPCRequest): string {
  const error = { code: INTERNAL_ERROR, message: "The batch's answer is too large; ask for it alone" }
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}
