import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import type { AuditEvent } from '../../../src/serve/audit.ts'
import { RateLimit } from '../../../src/serve/http/rate-limit.ts'
import { networkOf } from '../../../src/serve/http/server/trusted-proxies.ts'
import type { Surface } from '../../../src/serve/mcp/core/methods.ts'
import { INITIALIZE, exchange, legacy, modern } from '../../conformance/exchange.ts'
import type { Answer } from '../../conformance/exchange.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'

let repository: Repository

beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({ 'tidy/SKILL.md': '---\nname: tidy\ndescription: d\n---\nbody\n' })
})

afterAll(async () => {
  await repository[Symbol.asyncDispose]()
})

test('above the rate of a client the answer is 429 with Retry-After, until so much time has passed', async () => {
  let nowMs = 0
  await using served = await serve(repository, {
    config: ['limits: { http: { rate: { requests: 3, per: 30s } } }'],
    now: () => nowMs,
  })

  const first = await asked(served, 4)
  nowMs = 9_000
  const early = await asked(served, 1)
  nowMs = 10_001
  const later = await asked(served, 2)

  expect(first.map(({ status }) => status)).toEqual([200, 200, 200, 429])
  expect(first[3]?.headers.get('retry-after')).toBe('10')
  expect(early.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([[429, '1']])
  expect(later.map(({ status }) => status)).toEqual([200, 429])
})

test('each token has a rate of its own, wrong ones share that of their address, and health is asked as often as one likes', async () => {
  await using served = await serve(repository, {
    config: ['limits: { http: { rate: { requests: 2, per: 1h } } }'],
    now: () => 0,
  })
  const [one, other] = [await tokenFor(served, 'one'), await tokenFor(served, 'other')]

  const ofOne = await asked(served, 3, one)
  const ofOther = await asked(served, 1, other)
  const wrong = [...(await asked(served, 2, newToken().secret)), ...(await asked(served, 1))]
  const health = await Promise.all(
    Array.from({ length: 5 }, () => exchange(`${served.http.url}/healthz`, { method: 'GET' })),
  )

  expect(ofOne.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(ofOther.map(({ status }) => status)).toEqual([200])
  expect(wrong.map(({ status }) => status)).toEqual([401, 401, 429])
  expect(health.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
})

test('each message of a batch counts against the rate, and a batch that does not fit is refused whole', async () => {
  let nowMs = 0
  await using served = await serve(repository, {
    config: ['limits: { http: { rate: { requests: 10, per: 30s } } }'],
    now: () => nowMs,
  })
  const send = await batchesOf(served)

  const fits = await send(6)
  const tooMany = await send(5)
  nowMs = 6_000
  const later = await send(3)
  nowMs = 1_000_000
  const neverFits = await send(11)

  expect([fits.status, fits.batch?.length]).toEqual([200, 6])
  expect([tooMany.status, tooMany.error?.message, tooMany.headers.get('retry-after')]).toEqual([
    429,
    expect.stringContaining('a batch counts as the 5 messages'),
    '6',
  ])
  expect([later.status, later.batch?.length]).toEqual([200, 3])
  expect([neverFits.status, neverFits.error?.message]).toEqual([400, expect.stringContaining('at most 10 messages')])
})

test('of a batch that is refused for the rate, each request is remembered as refused, and none is served', async () => {
  const events: AuditEvent[] = []
  await using served = await serve(repository, {
    config: ['limits: { http: { rate: { requests: 10, per: 1h } } }'],
    now: () => 0,
    audit: (event) => events.push(event),
  })
  const send = await batchesOf(served)

  await send(8)
  await send(7)

  expect(events.map(({ asked, allowed }) => [asked, allowed])).toEqual([
    ...Array.from({ length: 8 }, () => ['skills/list', true]),
    ...Array.from({ length: 7 }, () => ['skills/list', false]),
  ])
})

test('a client that hangs up during its batch has the rest of it left undone', async () => {
  let count = 0
  const counting: Surface = {
    capabilities: {},
    methods: (known) => ({
      ...known,
      'test/count': () => {
        count += 1
        asking.destroy()
        return {}
      },
    }),
  }
  await using served = await serve(repository, { surfaces: [counting] })
  const session = await sessionIn(served)
  const asking = request(served.url, { method: 'POST', headers: legacy('ping', {}, session).headers, agent: false })
  const left = once(
    asking.on('error', () => {}),
    'close',
  ).catch(() => {})
  asking.end(JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'test/count' }))))
  await left

  const after = await exchange(served.url, legacy('ping', {}, session))

  expect(after.status).toBe(200)
  expect(count).toBeGreaterThan(0)
  expect(count).toBeLessThan(100)
})

test.each([
  { proxies: '[127.0.0.0/8]', statuses: [200, 200, 429] },
  { proxies: '[10.0.0.0/8]', statuses: [200, 429, 429] },
])('who is behind a proxy is told by one that is trusted alone: $proxies', async ({ proxies, statuses }) => {
  await using served = await serve(repository, {
    config: [
      `serve: { http: { trusted_proxies: ${proxies} } }`,
      'limits: { http: { rate: { requests: 1, per: 1h } } }',
    ],
    now: () => 0,
  })

  const replies = [
    ...(await asked(served, 1, undefined, '192.0.2.1')),
    // What a client says of itself stands before what the proxy adds.
    ...(await asked(served, 1, undefined, '192.0.2.1, 192.0.2.2')),
    ...(await asked(served, 1, undefined, '203.0.113.9, 192.0.2.2, 127.0.0.9')),
  ]

  expect(replies.map(({ status }) => status)).toEqual(statuses)
})

test('an address has so many connections, and the next is closed; when one ends there is room again', async () => {
  await using served = await serve(repository, { config: ['limits: { http: { connections_per_address: 2 } }'] })
  const held = [await connected(served), await connected(served)]
  for (const socket of held) expect(await statusOver(socket, '/healthz')).toBe(200)

  const third = await text(await connected(served)).catch((error: Error) => error.message)
  held[0]?.destroy()
  const again = await untilAnswered(served)

  expect(third).not.toContain('HTTP/1.1')
  expect(again).toBe(200)
  held[1]?.destroy()
})

test('behind a trusted proxy what counts is how much one client has under way', async () => {
  await using served = await serve(repository, {
    config: ['serve: { http: { trusted_proxies: [127.0.0.1] } }', 'limits: { http: { connections_per_address: 1 } }'],
  })
  const stream = await connected(served)
  const { headers, body } = modern('subscriptions/listen', { notifications: { resourcesListChanged: true } })
  const payload = JSON.stringify(body)
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-length': payload.length,
    'x-forwarded-for': '192.0.2.1',
    ...headers,
  })
  stream.write(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${payload}`)
  await once(stream, 'data')

  const [same] = await asked(served, 1, undefined, '192.0.2.1')
  const [other] = await asked(served, 1, undefined, '192.0.2.2')
  stream.destroy()

  expect([same?.status, same?.headers.get('retry-after'), other?.status]).toEqual([429, '1', 200])
})

test('clients that have their whole rate again are forgotten, and so are the oldest of too many', () => {
  let nowMs = 0
  const rate = new RateLimit({ requests: 5, perMs: 1_000 }, () => nowMs)

  for (let client = 0; client < 60_000; client += 1) rate.take(`client ${client}`)
  const crowded = rate.size
  nowMs = 1_000
  rate.take('one more')

  expect(crowded).toBe(50_000)
  expect(rate.size).toBe(1)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

async function asked(served: Served, times: number, token?: string, forwarded?: string): Promise<Answer[]> {
  const { headers, body } = modern('skills/list')
  const all = {
    ...headers,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
  }
  const replies: Answer[] = []
  for (let time = 0; time < times; time += 1) replies.push(await exchange(served.url, { headers: all, body }))
  return replies
}

/** Sends batches of so many requests, in a session. The one that opened it counts as well. */
async function batchesOf(served: Served): Promise<(length: number) => Promise<Answer>> {
  const session = await sessionIn(served)
  const { headers } = legacy('skills/list', {}, session)
  return async (length) => {
    const body = Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'skills/list', params: {} }))
    return exchange(served.url, { headers, body })
  }
}

async function sessionIn({ url }: Served): Promise<string> {
  const { headers } = await exchange(url, legacy('initialize', INITIALIZE))
  return headers.get('mcp-session-id') ?? ''
}

async function tokenFor(served: Served, name: string): Promise<string> {
  const { secret, sha256 } = newToken()
  await served.daemon.parts.tokens.add({ name, sha256, scopes: ['skills'], created: new Date().toISOString() })
  return secret
}

async function connected(served: Served): Promise<Socket> {
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  return socket
}

async function statusOver(socket: Socket, path: string): Promise<number> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
  const [answer] = await once(socket, 'data')
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(answer))?.[1])
}

/** The server learns a moment later that a connection has ended. */
async function untilAnswered(served: Served): Promise<number> {
  for (;;) {
    const reply = await exchange(`${served.http.url}/healthz`, { method: 'GET' }).catch(() => undefined)
    if (reply !== undefined) return reply.status
  }
}
