import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, JSONRPCResultResponse, RequestId } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Catalog } from '../../sync/model/catalog.ts'
import { VERSION } from '../version.ts'
import type { Subscriptions } from './caller.ts'
import { servedAmong } from './lookup.ts'

/** The answer to `subscriptions/listen`: the last message that it brings. */
export function listenResult(id: RequestId): JSONRPCResultResponse {
  const meta = {
    [SUBSCRIPTION_ID_META_KEY]: id,
    [SERVER_INFO_META_KEY]: { name: 'skillsyncd', version: VERSION },
  }
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: meta } }
}

const LISTEN = z.looseObject({
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
})

/**
 * What the SDK's own entry is shown of a listen request: only URIs that are served. It honours them all, and compares them
 * by the letter, so the spellings that were asked for are noted.
 */
export function narrowed(message: JSONRPCMessage, catalog: Catalog, wanted: Subscriptions): JSONRPCMessage {
  const listen = LISTEN.safeParse(message)
  if (!listen.success || !('method' in message)) return message
  const { notifications } = listen.data.params
  const served = servedAmong(catalog, notifications.resourceSubscriptions)
  for (const [asked, canonical] of served) wanted.subscribe(asked, canonical)
  const filter = { ...notifications, resourceSubscriptions: [...served.keys()] }
  return { ...message, params: { ...message.params, notifications: filter } }
}

const IDLE = z.object({
  method: z.literal('notifications/subscriptions/acknowledged'),
  params: z.object({
    notifications: z.strictObject({}),
    _meta: z.looseObject({ [SUBSCRIPTION_ID_META_KEY]: z.union([z.string(), z.number()]) }),
  }),
})

/** The listen request that this message acknowledges without honouring anything of it. */
export function idleListenOf(message: JSONRPCMessage): RequestId | undefined {
  const idle = IDLE.safeParse(message)
  return idle.success ? idle.data.params._meta[SUBSCRIPTION_ID_META_KEY] : undefined
}
