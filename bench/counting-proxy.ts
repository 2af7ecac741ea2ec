import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What went through. */
export interface Passed {
  readonly requests: number
  /** Of bodies, both ways. */
  readonly bytes: number
}

/** Stands before an HTTP server on loopback and counts. */
export interface CountingProxy extends AsyncDisposable {
  readonly url: string
  /** Since the last time this was asked. */
  take(): Passed
}

export async function countBefore(url: string): Promise<CountingProxy> {
  const target = new URL(url)
  let passed = { requests: 0, bytes: 0 }
  const server = createServer((incoming, outgoing) => {
    passed.requests += 1
    const count = (chunk: Buffer): void => void (passed.bytes += chunk.length)
    const { method, headers } = incoming
    const through = request({ host: target.hostname, port: target.port, path: incoming.url, method, headers })
    through.on('response', (answer) => {
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
      passed = { requests: 0, bytes: 0 }
      return taken
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}
