import { readMessage } from './message.ts'

/** One request of the SDK's transport, as far as it matters to whoever carries it. */
export interface HttpCall {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  readonly signal: AbortSignal
  /** Of the JSON-RPC request in the body; undefined where there is none. */
  readonly id: string | number | undefined
  /** Its method, or that of the notification. */
  readonly rpc: string | undefined
  /** Whether it opens the stream on which the server tells things by itself. */
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
    // With an event to go on from it resumes the answer to a request.
    isServerStream: method === 'GET' && headers['last-event-id'] === undefined,
  }
}

/** Whether what comes is told as it happens: silence is then nothing unusual. */
export function isLasting({ method, rpc }: HttpCall): boolean {
  return method === 'GET' || rpc === 'subscriptions/listen'
}
