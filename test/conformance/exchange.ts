import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Reply } from '../support/clients/peer.ts'
import { META, modernHeaders } from '../support/clients/peer.ts'

/** What is sent, to the letter: no header is added but the length of a body that has one. */
export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text as it is; anything else as JSON; chunks without a declared length. */
  readonly body?: unknown
  readonly chunks?: readonly Buffer[]
}

export interface Answer extends Reply {
  /** The messages of an answer that is a batch. */
  readonly batch?: readonly unknown[]
}

/** One HTTP exchange. What is no JSON comes back as a reply without result and error. */
export async function exchange(url: string, { method = 'POST', headers = {}, body, chunks }: Sent): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }
  const outgoing = request(url, { method, agent: false, headers: { ...length, ...headers } })
  outgoing.once('error', reject)
  outgoing.once('response', (response) => {
    // A server that has answered may close before it has read everything.
    outgoing.on('error', () => {})
    const given = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
    text(response)
      .then((content) => resolve({ ...parsed(content), status: response.statusCode ?? 0, headers: new Headers(given) }))
      .catch(reject)
  })
  for (const chunk of chunks ?? []) outgoing.write(chunk)
  outgoing.end(payload)
  return promise
}

function parsed(content: string): Pick<Answer, 'result' | 'error' | 'batch'> {
  if (content.startsWith('[')) return { batch: JSON.parse(content) }
  return content.startsWith('{') ? JSON.parse(content) : {}
}

/** A request of the modern era, complete: what a case breaks it breaks in a copy. */
export function modern(
  method: string,
  params: object = {},
): { readonly headers: Record<string, string>; readonly body: object } {
  return {
    headers: modernHeaders(method, params),
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
  }
}

/** A request of the 2025 era, complete; in a session, if one is named. */
export function legacy(
  method: string,
  params: object = {},
  session?: string,
): { readonly headers: Record<string, string>; readonly body: object } {
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': LEGACY_REVISION }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params },
  }
}

export const LEGACY_REVISION = '2025-11-25'

export const INITIALIZE = {
  protocolVersion: LEGACY_REVISION,
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}
