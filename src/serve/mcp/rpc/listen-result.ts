import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCResultResponse, RequestId } from '@modelcontextprotocol/server'
import { VERSION } from '../../version.ts'

/** The server info in a response of the modern era. */
export const SERVER_META = { [SERVER_INFO_META_KEY]: { name: 'skillsyncd', version: VERSION } }

/** Returns the response to `subscriptions/listen`, which is the last message of its stream. */
export function listenResult(id: RequestId): JSONRPCResultResponse {
  const meta = { [SUBSCRIPTION_ID_META_KEY]: id, ...SERVER_META }
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta } }
}
