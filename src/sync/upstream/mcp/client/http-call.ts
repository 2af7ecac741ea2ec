import { readMessage } from './message.ts'

/** The parts of a request by the SDK's transport that matter for its exchange. */
export interface HttpCall {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  readonly signal: AbortSignal
  /** The id of the JSON-RPC request in the body; `undefined` if there is none. */
  readonly id: string | number | undefined
  /** The method of the request or notification. */
  readonly rpc: string | undefined
  /** True if it opens the stream for messages that the server initiates. */
  readonly isServerStream: boolean
}

export function callOf(url: string, init: RequestInit): HttpCall {
  const method = init.method ?? 'GET'
  const headers = Object.fromEntries(new Headers(init.headers))
  const text = typeof init.body === 'string' ? init.body : undefined
  const message = text === undefined ? undefined : readMessage(JSON.parse(text))
  return {
    url,
    method,
    headers,
    body: text === undefined ? undefined : Buffer.from(text),
    signal: init.signal ?? new AbortController().signal,
    id: message?.kind === 'request' ? message.id : undefined,
    rpc: message?.kind === 'request' ? message.method : message?.kind === 'notice' ? message.notice.method : undefined,
    // With a last event id, it resumes the answer to a request.
    isServerStream: method === 'GET' && headers['last-event-id'] === undefined,
  }
}

/** True if the stream delivers events as they happen, so that silence is normal. */
export function isLasting({ method, rpc }: HttpCall): boolean {
  return method === 'GET' || rpc === 'subscriptions/listen'
}
