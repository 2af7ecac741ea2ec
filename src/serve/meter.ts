import { OMITTED_LIST } from '../sync/skill/entry-faults.ts'

/** Counts the work of serving. Each event is reported once. Its methods never block and never throw. */
export interface Meter {
  /** Counts an answered HTTP request by its status and its route, a name from a fixed set. */
  readonly answered: (route: string, status: number) => void
  /**
   * Counts an answered MCP message. `tookMs` runs from the complete receipt of the message; it is absent if the message
   * was not served.
   */
  readonly message: (method: MeteredMethod, end: MessageEnd, tookMs?: number) => void
}

/**
 * Result of a message. `error`: answered with a protocol or tool error. `refused`: rejected without being served.
 * `left`: the client did not wait for the answer.
 */
export type MessageEnd = 'ok' | 'error' | 'refused' | 'left'

/** The methods that are counted separately. All other names that clients send count as one. */
export const METERED_METHODS = [
  'initialize',
  'ping',
  'server/discover',
  'skills/list',
  'skills/get',
  OMITTED_LIST,
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/directory/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'other',
] as const
export type MeteredMethod = (typeof METERED_METHODS)[number]

/** Returns the method name that the metrics use. */
export function meteredMethod(method: string): MeteredMethod {
  return METERED.get(method) ?? 'other'
}

const METERED: ReadonlyMap<string, MeteredMethod> = new Map(METERED_METHODS.map((method) => [method, method]))

/** The route of a request without one: no such route exists, or the request was rejected before routing. */
export const NO_ROUTE = 'none'

/** The status logged if the client closed the request before a response; nginx uses the same. */
export const LEFT_STATUS = 499
