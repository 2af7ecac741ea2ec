import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Server } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A web server before a git server, which it resembles but for what `meddle` does. */
export interface Front extends AsyncDisposable {
  readonly origin: string
}

/** Answers a request itself and returns true; or changes it (headers, url) and returns false to have it passed on. */
export type Meddle = (request: IncomingMessage, response: ServerResponse) => boolean

/** What to answer a POST with this body, in place of the git server; undefined to pass it on. */
export type Replace = (body: Buffer) => Buffer | undefined

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
  const replaced = method === 'POST' ? replace(body) : undefined
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
