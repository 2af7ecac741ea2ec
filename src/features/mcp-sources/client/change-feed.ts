import type { Notification } from './message.ts'

/** The requested notifications: changes of the resource list, and changes of these resources. */
export interface SubscriptionRequest {
  readonly list: boolean
  readonly uris: readonly string[]
}

export type ChangeNotice = { readonly kind: 'updated'; readonly uri: string } | { readonly kind: 'list' }

/** A subscription that the server accepted. */
export interface Watch extends AsyncDisposable {
  readonly honoured: SubscriptionRequest
  /** Resolves if no more notifications come: the stream was dropped or disposed of, or the server honored nothing. */
  readonly ended: Promise<void>
}

/** The watch for a server that sends no notifications. */
export const NO_WATCH: Watch = {
  honoured: { list: false, uris: [] },
  ended: Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}

export function isUnheard({ list, uris }: SubscriptionRequest): boolean {
  return !list && uris.length === 0
}

/** Parses a notification within the accepted subscription; `undefined` for any other. */
export function noticeIn(
  { method, params }: Notification,
  honoured: ReadonlySet<string>,
  list: boolean,
): ChangeNotice | undefined {
  if (method === 'notifications/resources/list_changed') return list ? { kind: 'list' } : undefined
  if (method !== 'notifications/resources/updated') return undefined
  const { uri } = params
  return typeof uri === 'string' && isWithin(uri, honoured) ? { kind: 'updated', uri } : undefined
}

/** True also for a resource below a subscribed one, which the legacy era allows. */
function isWithin(uri: string, roots: ReadonlySet<string>): boolean {
  if (uri.length > URI_LENGTH) return false
  for (let end = uri.length; end > 0; end = uri.lastIndexOf('/', end - 1)) {
    if (roots.has(uri.slice(0, end))) return true
  }
  return false
}

/** The maximum length, because each slash of a URI costs one lookup. No real URI is longer. */
const URI_LENGTH = 4096
