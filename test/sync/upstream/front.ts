import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

/** A web server before a git server, which it resembles but for what `meddle` does. */
export interface Front extends AsyncDisposable {
  readonly origin: string
}

/** Answers a request itself and returns true; or changes it (headers, url) and returns false to have it passed on. */
export type Meddle = (request: IncomingMessage, response: ServerResponse) => boolean

/** What to answer a POST with this body, unpacked, in place of the git server; undefined to pass it on, changed or not. */
export type Replace = (body: Buffer, request: IncomingMessage) => Buffer | Refusal | undefined

/** An answer in one line of text. */
export interface Refusal {
  readonly status: number
  readonly text: string
}

/** Changes what the git server answers. */
export type Change = (answer: Buffer) => Buffer

export async function startFront(
  behind: string,
  meddle: Meddle,
  replace: Replace = () => undefined,
  change: Change = (answer) => answer,
): Promise<Front> {
  const server = createServer((request, response) => {
    if (meddle(request, response)) return
    void passOn(behind, { replace, change }, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${portOf(server)}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

async function passOn(
  behind: string,
  { replace, change }: { readonly replace: Replace; readonly change: Change },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(request)
  const method = request.method ?? 'GET'
  // The git program packs a request of more than 1,024 bytes.
  const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  const replaced = method === 'POST' ? replace(plain, request) : undefined
  if (replaced !== undefined && 'status' in replaced) {
    response.writeHead(replaced.status, { 'content-type': 'text/plain; charset=utf-8' }).end(replaced.text)
    return
  }
  if (replaced !== undefined) {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' }).end(replaced)
    return
  }
  const answer = await fetch(behind + (request.url ?? ''), {
    method,
    headers: headersOf(request),
    ...(method === 'GET' ? {} : { body }),
  })
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
  response.end(change(Buffer.from(await answer.arrayBuffer())))
}

/** The port that a server listens on. */
export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port')
  return address.port
}

/** Those that a git server cares for. */
function headersOf(request: IncomingMessage): Record<string, string> {
  const names = ['accept', 'authorization', 'content-encoding', 'content-type', 'git-protocol']
  return Object.fromEntries(
    names.flatMap((name) => (request.headers[name] ? [[name, String(request.headers[name])]] : [])),
  )
}

/** A front that speaks the old protocol alone, and refuses a fetch that does not name a capability which it demands. */
export async function startOldHost(behind: string, version: 0 | 1 = 0): Promise<Front> {
  return startFront(
    behind,
    (request) => {
      delete request.headers['git-protocol']
      if (version === 1) request.headers['git-protocol'] = 'version=1'
      return false
    },
    (body) => (/^.{4}want \S+ (?:.* )?multi_ack(?:_detailed)?\b/.test(body.toString('latin1')) ? undefined : DEMAND),
  )
}

const DEMAND = { status: 400, text: 'TF401022: The request must have either multi_ack or multi_ack_detailed\r\n' }
