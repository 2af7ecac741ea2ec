import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCResultResponse, RequestId } from '@modelcontextprotocol/server'
import { VERSION } from '../../version.ts'

/** What an answer of the modern era says of us. */
export const SERVER_META = { [SERVER_INFO_META_KEY]: { name: 'skillsyncd', version: VERSION } }

/** The answer to `subscriptions/listen`: the last message that it brings. */
export function listenResult(id: RequestId): JSONRPCResultResponse {
  const meta = { [SUBSCRIPTION_ID_META_KEY]: id, ...SERVER_META }
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta } }
}
