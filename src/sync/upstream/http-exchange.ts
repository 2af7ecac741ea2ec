import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'

/** One request, all of it. */
export interface Asked {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly signal: AbortSignal
}

/** What came back, as far as its head; the body is still to be read, or to be given up. */
export interface Answer {
  readonly url: string
  readonly status: number
  readonly statusText: string
  header(name: string): string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
  giveUp(): void
}

/**
 * Asks once, and follows nothing. Over Node's own client: what `fetch` stands on takes longer to load than a small fetch
 * takes from beginning to end, and is loaded anew by every worker.
 */
export async function exchange(url: string, asked: Asked): Promise<Answer> {
  const outgoing = await sent(url, asked)
  try {
    return answerOf(url, await headOf(outgoing))
  } catch (error) {
    // The host closed a kept connection just when it was used again: nothing was answered, so it is asked anew.
    if (!outgoing.reusedSocket || !isReset(error)) throw error
    return answerOf(url, await headOf(await sent(url, asked)))
  }
}

const HTTP_AGENT = new HttpAgent({ keepAlive: true })

async function sent(url: string, { method, headers, body, signal }: Asked): Promise<ClientRequest> {
  const secure = new URL(url).protocol === 'https:'
  const request = secure ? await secureRequest() : httpRequest
  const agent = secure ? {} : { agent: HTTP_AGENT }
  const length = body === undefined ? {} : { 'content-length': String(body.byteLength) }
  const outgoing = request(url, { method, headers: { ...headers, ...length }, signal, ...agent })
  outgoing.end(body)
  return outgoing
}

/** Loaded when a source needs it: certificates are half of what Node takes to start. */
async function secureRequest(): Promise<typeof httpRequest> {
  return (await import('node:https')).request
}

async function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  outgoing.once('response', resolve)
  // Once the answer has begun, its body tells of an error too; this one is then for nobody.
  outgoing.on('error', reject)
  return promise
}

function answerOf(url: string, message: IncomingMessage): Answer {
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
  return {
    url,
    status: message.statusCode ?? 0,
    statusText: message.statusMessage ?? '',
    headers,
    header: (name) => headers[name],
    body: message,
    giveUp: () => void message.destroy(),
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}
