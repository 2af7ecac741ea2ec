import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCResultResponse, RequestId } from '@modelcontextprotocol/server'
import { VERSION } from '../version.ts'

/** The answer to `subscriptions/listen`: the last message that it brings. */
export function listenResult(id: RequestId): JSONRPCResultResponse {
  const meta = {
    [SUBSCRIPTION_ID_META_KEY]: id,
    [SERVER_INFO_META_KEY]: { name: 'skillsyncd', version: VERSION },
  }
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta } }
}
