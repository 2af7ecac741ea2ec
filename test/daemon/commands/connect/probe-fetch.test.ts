import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { ProbeFetch } from '../../../../src/daemon/commands/connect/probe-fetch.ts'

test('the token goes to the origin that is probed, and to no other that a client names', async () => {
  const [own, other] = [await listening(), await listening()]
  const probe = probing(own.origin)

  await probe.fetch(`${own.origin}/.well-known/oauth-protected-resource`)
  const elsewhere = probe.fetch(`${other.origin}/mcp`)

  await expect(elsewhere).rejects.toThrow(`${other.origin} gets no request`)
  expect(own.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer canary-token'])
  expect(other.requests).toEqual([])
})

test('a refusal that never ends is read as far as it is used', async () => {
  const { origin } = await listening((_, response) => {
    response.writeHead(500)
    Readable.from(endless()).pipe(response)
  })
  const probe = probing(origin)

  const response = await probe.fetch(`${origin}/mcp`)

  expect((await response.text()).length).toBe(65_536)
  expect(probe.refusal).toMatchObject({ status: 500, text: 'no'.repeat(2_048) })
})

test('answers of more bytes than a listing has are refused, and the address is to be checked', async () => {
  const { origin } = await listening((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    Readable.from(endless()).pipe(response)
  })
  const probe = probing(origin)

  const response = await probe.fetch(`${origin}/mcp`, { method: 'POST' })

  await expect(response.text()).rejects.toMatchObject({
    code: 'limit-exceeded',
    message: 'The answers are over 33554432 bytes',
    fix: 'Check that the address is that of a server of skillsyncd',
  })
})

function* endless(): Generator<string> {
  for (;;) yield 'no'.repeat(1_000)
}

function probing(origin: string): ProbeFetch {
  return new ProbeFetch({
    url: new URL('/mcp', origin),
    token: 'canary-token',
    route: { ca: undefined, proxy: undefined },
    userAgent: 'test',
    signal: new AbortController().signal,
  })
}

async function listening(answer: RequestListener = (_, response) => response.end('{}')) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, requests }
}
