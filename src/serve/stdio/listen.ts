import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { servedAmong } from '../mcp/resources/lookup.ts'
import type { Serving } from '../mcp/core/methods.ts'

/** The URIs of the listen requests that are open, as the client wrote them and as we know them. */
export interface Listens {
  listen(id: RequestId, uris: ReadonlyMap<string, string>): void
  /** The request has ended, if it was one of these. */
  forget(id: RequestId): void
}

const ID = z.union([z.string(), z.number()])

const LISTEN = z.looseObject({
  id: ID,
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
})

/**
 * What the SDK's own entry is shown of a listen request: only URIs that are served. It honours them all, and compares them
 * by the letter, so the spellings that were asked for are noted.
 */
export function narrowed(
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

/** The listen request that this message acknowledges without honouring anything of it. */
export function idleListenOf(message: JSONRPCMessage): RequestId | undefined {
  const idle = IDLE.safeParse(message)
  return idle.success ? idle.data.params._meta[SUBSCRIPTION_ID_META_KEY] : undefined
}

const CANCELLED = z.looseObject({
  method: z.literal('notifications/cancelled'),
  params: z.looseObject({ requestId: ID }),
})

/** The request that this message cancels. */
export function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  const cancelled = CANCELLED.safeParse(message)
  return cancelled.success ? cancelled.data.params.requestId : undefined
}
