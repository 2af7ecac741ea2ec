import { createServer, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What went through. */
export interface Passed {
  readonly requests: number
  /** Of bodies, both ways. */
  readonly bytes: number
  /** Of the lines before the bodies, both ways. */
  readonly headBytes: number
}

const NOTHING: Passed = { requests: 0, bytes: 0, headBytes: 0 }

function headBytesOf({ rawHeaders }: IncomingMessage, first: string): number {
  // Each name is followed by a colon and a space, each line by its end, and all by an empty line.
  return first.length + rawHeaders.join('').length + rawHeaders.length * 2 + 4
}

/** Stands before an HTTP server on loopback and counts. */
export interface CountingProxy extends AsyncDisposable {
  readonly url: string
  /** Since the last time this was asked. */
  take(): Passed
}

export async function countBefore(url: string): Promise<CountingProxy> {
  const target = new URL(url)
  let passed = { ...NOTHING }
  const server = createServer((incoming, outgoing) => {
    passed.requests += 1
    const count = (chunk: Buffer): void => void (passed.bytes += chunk.length)
    const { method, headers } = incoming
    passed.headBytes += headBytesOf(incoming, `${method} ${incoming.url} HTTP/1.1`)
    const through = request({ host: target.hostname, port: target.port, path: incoming.url, method, headers })
    through.on('response', (answer) => {
      passed.headBytes += headBytesOf(answer, `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`)
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      outgoing.flushHeaders()
      answer.on('data', count).pipe(outgoing)
    })
    // Whoever left has no use for the rest.
    through.on('error', () => outgoing.destroy())
    outgoing.on('close', () => through.destroy())
    incoming.on('data', count).pipe(through)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy does not listen on a port')
  return {
    url: `http://127.0.0.1:${address.port}${target.pathname}`,
    take() {
      const taken = passed
      passed = { ...NOTHING }
      return taken
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}
