import type { Notification } from './message.ts'

/** What is to be told: that the list of resources changed, and which of these did. */
export interface Wish {
  readonly list: boolean
  readonly uris: readonly string[]
}

export type Notice = { readonly kind: 'updated'; readonly uri: string } | { readonly kind: 'list' }

/** What the server agreed to tell. */
export interface Watch extends AsyncDisposable {
  readonly honoured: Wish
  /** Resolves when nothing more will be told: dropped, disposed of, or nothing honoured in the first place. */
  readonly ended: Promise<void>
}

/** A server that tells nothing. */
export const UNHEARD: Watch = {
  honoured: { list: false, uris: [] },
  ended: Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}

export function isUnheard({ list, uris }: Wish): boolean {
  return !list && uris.length === 0
}

/** Reads a notification as what was agreed to; everything else that a server tells is for nobody. */
export function noticeIn(
  { method, params }: Notification,
  honoured: ReadonlySet<string>,
  list: boolean,
): Notice | undefined {
  if (method === 'notifications/resources/list_changed') return list ? { kind: 'list' } : undefined
  if (method !== 'notifications/resources/updated') return undefined
  const { uri } = params
  return typeof uri === 'string' && isWithin(uri, honoured) ? { kind: 'updated', uri } : undefined
}

/** Of something that lies below what was asked for, the legacy era may tell too. */
function isWithin(uri: string, roots: ReadonlySet<string>): boolean {
  if (uri.length > URI_LENGTH) return false
  for (let end = uri.length; end > 0; end = uri.lastIndexOf('/', end - 1)) {
    if (roots.has(uri.slice(0, end))) return true
  }
  return false
}

/** Each slash of a URI is one look; longer ones are nobody's. */
const URI_LENGTH = 4096
