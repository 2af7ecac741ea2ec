import { OMITTED_LIST } from '../sync/skill-md/entry-faults.ts'

/** What counts the work of serving. It is told of each thing once, keeps nobody waiting, and never throws. */
export interface Meter {
  /** A request of HTTP was answered: by which route, of those that there are, and with which status. */
  readonly answered: (route: string, status: number) => void
  /** A message of MCP was. `tookMs`: from when all of it was there. Of one that nobody served, nothing. */
  readonly message: (method: MeteredMethod, end: MessageEnd, tookMs?: number) => void
}

/**
 * What became of a message. `error`: it was answered with an error, of the protocol or of a tool. `refused`: turned away
 * without being served. `left`: its client did not wait for the answer.
 */
export type MessageEnd = 'ok' | 'error' | 'refused' | 'left'

/** The methods that are told apart; whatever else clients write there is one. */
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

/** The method by the name that stands for it in figures. */
export function meteredMethod(method: string): MeteredMethod {
  return METERED.get(method) ?? 'other'
}

const METERED: ReadonlyMap<string, MeteredMethod> = new Map(METERED_METHODS.map((method) => [method, method]))

/** The route of what no route was found for: nothing is served there, or it was turned away before one was looked for. */
export const NO_ROUTE = 'none'

/** The status of a request whose client left before there was one; what nginx writes down. */
export const LEFT_STATUS = 499
