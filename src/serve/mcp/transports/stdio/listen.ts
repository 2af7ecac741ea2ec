import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Serving } from '../../core/methods.ts'
import { servedAmong } from '../../resources/find-resource.ts'

/** The URIs of the open listen requests, in the client's spelling and in canonical form. */
export interface Listens {
  listen(id: RequestId, uris: ReadonlyMap<string, string>): void
  /** Removes the request, if it is a known listen request. */
  forget(id: RequestId): void
}

const ID = z.union([z.string(), z.number()])

const LISTEN = z.looseObject({
  id: ID,
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
})

/**
 * Returns the listen request that the SDK receives: only with URIs that are served. The SDK accepts all URIs and
 * compares them literally, so the client's spellings are recorded.
 */
export function narrowListen(
  message: JSONRPCMessage,
  { registry, forms }: Pick<Serving, 'registry' | 'forms'>,
  listens: Listens,
): JSONRPCMessage {
  const listen = LISTEN.safeParse(message)
  if (!listen.success || !('method' in message)) return message
  const { notifications } = listen.data.params
  const served = servedAmong(registry.catalog, forms, notifications.resourceSubscriptions)
  if (served.size > 0) listens.listen(listen.data.id, served)
  const filter = { ...notifications, resourceSubscriptions: [...served.keys()] }
  return { ...message, params: { ...message.params, notifications: filter } }
}

const IDLE = z.object({
  method: z.literal('notifications/subscriptions/acknowledged'),
  params: z.object({
    notifications: z.strictObject({}),
    _meta: z.looseObject({ [SUBSCRIPTION_ID_META_KEY]: ID }),
  }),
})

/** Returns the id of the listen request that this message acknowledges with an empty filter. */
export function idleListenOf(message: JSONRPCMessage): RequestId | undefined {
  const idle = IDLE.safeParse(message)
  return idle.success ? idle.data.params._meta[SUBSCRIPTION_ID_META_KEY] : undefined
}

const CANCELLED = z.looseObject({
  method: z.literal('notifications/cancelled'),
  params: z.looseObject({ requestId: ID }),
})

/** Returns the id of the request that this message cancels. */
export function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  const cancelled = CANCELLED.safeParse(message)
  return cancelled.success ? cancelled.data.params.requestId : undefined
}
