import { once } from 'node:events'
import { IncomingMessage, ServerResponse, createServer } from 'node:http'
import { Socket, connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuditEvent } from '../../../../src/serve/audit.ts'
import { ResponseBackpressure } from '../../../../src/serve/http/server/response-backpressure.ts'
import { sendJsonText } from '../../../../src/serve/http/server/response.ts'
import { INITIALIZE, exchange, legacy, modern } from '../../../conformance/exchange.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'

const MIB = 2 ** 20
const URI = 'skill://fx/big/big.txt'

let repository: Repository
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({
    'big/SKILL.md': '---\nname: big\ndescription: d\n---\n',
    'big/big.txt': 'a line of text\n'.repeat((10 * MIB) / 15),
  })
})
afterAll(async () => {
  await repository[Symbol.asyncDispose]()
})

test('clients that read nothing hold no more than the budget, others are answered, and it is empty when they leave', async () => {
  await using served = await serve(repository, { limits: { unsentBytes: 20 * MIB } })
  const read = modern('resources/read', { uri: URI })
  const stuck = await Promise.all(Array.from({ length: 6 }, () => sent(served, read, 7)))

  const busy = await refusedRead(served)
  const held = served.http.unsentBytes()
  expect(Number.isInteger(held)).toBe(true)
  const file = await exchange(`${served.http.url}/.well-known/agent-skills/big/big.txt`, { method: 'GET' })
  const list = await exchange(served.url, modern('skills/list'))
  for (const socket of stuck) socket.destroy()

  expect(busy.headers.get('retry-after')).toBe('1')
  expect(held).toBeGreaterThan(10 * MIB)
  expect(held).toBeLessThanOrEqual(20 * MIB)
  expect(file.status).toBe(503)
  expect(list.status).toBe(200)
  await expect.poll(() => served.http.unsentBytes()).toBe(0)
  expect((await exchange(served.url, read)).status).toBe(200)
})

test('what there is no room to answer is remembered as refused', async () => {
  const events: AuditEvent[] = []
  const options = { limits: { unsentBytes: MIB }, audit: (event: AuditEvent) => void events.push(event) }
  await using many = await Repository.create()
  const names = Array.from({ length: 400 }, (_, index) => `big/${'x'.repeat(150)}${index}.txt`)
  await many.commit({
    'big/SKILL.md': '---\nname: big\ndescription: d\n---\n',
    'big/big.txt': 'a line of text\n'.repeat((10 * MIB) / 15),
    ...Object.fromEntries(names.map((name) => [name, 'x'])),
  })
  await using served = await serve(many, options)
  const stuck = await sent(served, modern('resources/read', { uri: URI }), 1)
  await expect.poll(() => events.length).toBe(1)

  const list = await exchange(served.url, modern('skills/list'))
  stuck.destroy()

  expect(list.status).toBe(503)
  expect(events.at(-1)).toMatchObject({
    asked: 'skills/list',
    allowed: false,
    why: expect.stringContaining('try again'),
  })
})

test('a batch is counted with all the files that it asks for, before one of them is read', async () => {
  await using served = await serve(repository, { limits: { unsentBytes: 40 * MIB } })
  const opened = await exchange(served.url, legacy('initialize', INITIALIZE))
  const { headers, body } = legacy('resources/read', { uri: URI }, opened.headers.get('mcp-session-id') ?? '')
  const batch = { headers, body: Array.from({ length: 3 }, (_, id) => ({ ...body, id })) }
  const stuck = await sent(served, batch, 1)
  await expect.poll(() => served.http.unsentBytes()).toBeGreaterThan(25 * MIB)

  const second = await exchange(served.url, batch)

  expect(second.status).toBe(503)
  stuck.destroy()
})

test('a connection has one answer made at a time, and each in its order as it reads on', async () => {
  await using served = await serve(repository)
  const socket = await sent(served, modern('resources/read', { uri: URI }), 7)
  await expect.poll(() => served.http.unsentBytes()).toBeGreaterThan(10 * MIB)

  const health = await exchange(`${served.http.url}/healthz`, { method: 'GET' })
  const held = served.http.unsentBytes()
  const answers = await answersOn(socket, 7)

  expect(health.status).toBe(200)
  expect(held).toBeLessThan(15 * MIB)
  expect(answers).toBe(7)
  await expect.poll(() => served.http.unsentBytes()).toBe(0)
  socket.destroy()
})

test('an answer of which nothing is taken for 30 seconds is given up', async () => {
  await using pair = await stuckPair('x'.repeat(20 * MIB))

  // More than the rate asks for: what is shown is that it no longer moves.
  pair.unsent.watch(pair.response, 0, () => 15 * MIB)
  pair.unsent.endStuck()

  for (let second = 5; second < 30; second += 5) pair.unsent.endStuck()
  const before = pair.response.destroyed
  pair.unsent.endStuck()

  expect(before).toBe(false)
  expect(pair.response.destroyed).toBe(true)
  await expect.poll(() => pair.unsent.bytes).toBe(0)
})

test.each([
  { bytesPerLook: 8 * 1024, others: 'are not refused', isGivenUp: true },
  { bytesPerLook: 64 * 1024, others: 'are not refused', isGivenUp: false },
  { bytesPerLook: 64 * 1024, others: 'are refused', isGivenUp: true },
  { bytesPerLook: 512 * 1024, others: 'are refused', isGivenUp: false },
])('$bytesPerLook bytes in 5 seconds, while others $others: given up is $isGivenUp', async (drip) => {
  await using pair = await stuckPair('x'.repeat(20 * MIB))
  const other = new ServerResponse(new IncomingMessage(new Socket()))
  let written = MIB
  pair.unsent.watch(pair.response, 0, () => written)

  for (let second = 0; second < 600; second += 5) {
    written += drip.bytesPerLook
    if (drip.others === 'are refused') pair.unsent.hold(other, 600 * MIB)
    pair.unsent.endStuck()
  }

  expect(pair.response.destroyed).toBe(drip.isGivenUp)
})

test('a response that is closed already holds nothing', async () => {
  await using pair = await stuckPair('x'.repeat(20 * MIB))
  pair.client.destroy()
  await once(pair.response, 'close')

  expect(pair.unsent.hold(pair.response, MIB)).toBe(false)
  expect(pair.unsent.bytes).toBe(0)
})

/** Sends a request so many times and reads nothing. */
async function sent(
  { url }: Served,
  { headers, body }: { readonly headers: Record<string, string>; readonly body: unknown },
  times: number,
): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  const payload = JSON.stringify(body)
  const lines = Object.entries({ host: '127.0.0.1', 'content-length': Buffer.byteLength(payload), ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n${payload}`.repeat(times))
  return socket
}

async function refusedRead({ url }: Served): Promise<{ readonly headers: Headers }> {
  for (;;) {
    const answer = await exchange(url, modern('resources/read', { uri: URI }))
    if (answer.status === 503) return answer
  }
}

/** Reads until so many answers have begun and the last has ended. */
async function answersOn(socket: Socket, most: number): Promise<number> {
  let text = ''
  let answers = 0
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text = text.slice(-20) + String(chunk)
    answers += text.split('HTTP/1.1 200').length - 1
    text = text.replaceAll('HTTP/1.1 200', '')
    if (answers === most && text.endsWith('}')) break
  }
  return answers
}

interface Pair extends AsyncDisposable {
  readonly unsent: ResponseBackpressure
  readonly client: Socket
  readonly response: ServerResponse
}

/** A client that reads nothing, and the answer that it was sent. */
async function stuckPair(text: string): Promise<Pair> {
  const server = createServer()
  const unsent = new ResponseBackpressure(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  client.on('error', () => {})
  client.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const [, response]: [unknown, ServerResponse] = (await once(server, 'request')) as never
  sendJsonText(response, 200, text)
  return {
    unsent,
    client,
    response,
    async [Symbol.asyncDispose]() {
      client.destroy()
      unsent[Symbol.dispose]()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
