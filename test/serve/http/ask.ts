import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

export interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Asks for a path as it is written: what `fetch` would fold away arrives. */
export async function ask(
  origin: string,
  path: string,
  { method = 'GET', headers, body }: Asking = {},
): Promise<Answer> {
  const { hostname, port } = new URL(origin)
  const asked = request({ hostname, port, path, method, headers: { ...headers }, agent: false })
  asked.end(body)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const bytes = await buffer(response)
  return { status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() }
}
