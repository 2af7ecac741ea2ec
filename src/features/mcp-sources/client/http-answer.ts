import { parseJson } from '../../../base/json-value.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { HttpAnswer } from '../../../sync/upstream/http/http-exchange.ts'
import { isSignInAddress, isSignInPage, isWebPage } from '../../../sync/upstream/http/http-failure.ts'
import { signInRedirect } from '../../../sync/upstream/http/http-redirect.ts'
import { readMessage } from './message.ts'

/** Returns why an answer is unreadable, whatever its status. */
export function unreadable(answer: HttpAnswer, what: string): SyncError | undefined {
  const encoding = answer.header('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    return new SyncError('source-unreachable', `${what}: it answers in an encoding that was not asked for`)
  }
  if (isSignInPage(answer)) return new SyncError('credentials-rejected', `${what}: it answers with a page to sign in`)
  if (isWebPage(answer)) {
    // Usually a portal or a proxy that wants the user to sign in, instead of the server behind it.
    return new SyncError('source-unreachable', `${what}: the address answers with a web page, not an MCP server`)
  }
  return undefined
}

/** Returns why a redirect is refused: it leads to another origin, or would change the request. */
export function refusedRedirect(answer: HttpAnswer, method: string, what: string): SyncError | undefined {
  const { status, url } = answer
  if (!isRedirectStatus(answer)) return undefined
  const next = URL.parse(answer.header('location') ?? '', url)
  const refused = (why: string) =>
    new SyncError('source-unreachable', `${what}: its redirect (${status}) is refused, ${why}`)
  if (next === null) return refused('it names no address')
  if (isSignInAddress(next, new URL(url))) return signInRedirect(answer, next, what)
  if (next.origin !== new URL(url).origin) return refused(`it leads to "${next.origin}"`)
  if (method !== 'GET' && status !== 307 && status !== 308) return refused(`it answers a ${method}`)
  return undefined
}

export function isRedirectStatus({ status }: HttpAnswer): boolean {
  return status >= 300 && status < 400 && status !== 304
}

export function isEventStream(answer: HttpAnswer): boolean {
  return mediaTypeOf(answer) === 'text/event-stream'
}

/** Returns the JSON-RPC error in an HTTP error answer, if it belongs to the request with this id. */
export async function replyIn(
  answer: HttpAnswer,
  body: AsyncIterable<Uint8Array>,
  id: string | number,
): Promise<{ readonly code: number; readonly response: Response } | undefined> {
  if (mediaTypeOf(answer) !== 'application/json') return undefined
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  const text = Buffer.concat(parts).toString('utf8')
  const message = readMessage(parseJson(text))
  if (message?.kind !== 'answer' || message.id !== id || message.reply.ok) return undefined
  return { code: message.reply.code, response: new Response(text, { headers: { 'content-type': 'application/json' } }) }
}

function mediaTypeOf(answer: HttpAnswer): string | undefined {
  return (answer.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
}
