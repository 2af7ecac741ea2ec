import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ProbeFetch } from '../../../src/daemon/connect/probe-fetch.ts'

test('the token goes to the origin that is probed, and to no other that a client names', async () => {
  const [own, other] = [await listening(), await listening()]
  const probe = new ProbeFetch({
    url: new URL('/mcp', own.origin),
    token: 'canary-token',
    route: { ca: undefined, proxy: undefined },
    userAgent: 'test',
    signal: new AbortController().signal,
  })

  await probe.fetch(`${own.origin}/.well-known/oauth-protected-resource`)
  const elsewhere = probe.fetch(`${other.origin}/mcp`)

  await expect(elsewhere).rejects.toThrow(`${other.origin} is not asked`)
  expect(own.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer canary-token'])
  expect(other.requests).toEqual([])
})

async function listening() {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, requests }
}
