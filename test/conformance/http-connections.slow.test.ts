import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { legacyHttp } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { exchange, legacy, modern } from './exchange.ts'

const URI = 'skill://fx/tidy/SKILL.md'
const GRACE_MS = 2_000

test('a stream that waits behind another on its connection is refused, and leaves nothing behind', async () => {
  await using daemon = await serveTidy()
  const { served } = daemon
  await using first = await legacyHttp(served.url)
  await using second = await legacyHttp(served.url)
  const get = (session: string): string => wire(served, 'GET', legacy('', {}, session).headers)
  const listen = modern('subscriptions/listen', { notifications: { resourceSubscriptions: [URI] } })
  const socket = await connected(served)

  socket.write(get(first.session) + get(second.session) + wire(served, 'POST', listen.headers, listen.body))
  const received = heads(socket)
  await received.untilThereAre(1)
  const open = served.http.counts()
  await exchange(served.url, { method: 'DELETE', headers: legacy('', {}, first.session).headers })
  await received.untilThereAre(3)
  socket.destroy()

  const why = 'A stream needs a connection of its own'
  expect(received.statuses()).toEqual([200, 400, 400])
  expect(received.text().split(why)).toHaveLength(3)
  expect(open).toEqual({ sessions: 2, streams: 1, subscribedUris: 0 })
  expect(served.http.counts()).toEqual({ sessions: 1, streams: 0, subscribedUris: 0 })
  expect((await second.subscribe([URI])).messages).toEqual([])
})

test('a connection on which request follows request unread is closed, and the next one is served', async () => {
  await using daemon = await serveTidy()
  const { served } = daemon
  // It is read piece by piece, so that none is answered before all have come.
  const { headers, body } = modern('resources/read', { uri: 'skill://fx/tidy/large.md' })
  const socket = await connected(served)
  const received = text(socket)

  socket.write(wire(served, 'POST', headers, body).repeat(20))

  const statuses = [...(await received).matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
  expect(statuses).toEqual([...Array.from({ length: 8 }, () => '200'), '503'])
  expect((await exchange(served.url, modern('skills/list'))).status).toBe(200)
})

test('a session whose stream has just ended was not idle, however long the stream was open', async () => {
  let now = 0
  await using daemon = await serveTidy({ limits: { sessions: { sessions: 10, idleMs: 1_000 } }, now: () => now })
  const { served } = daemon
  await using peer = await legacyHttp(served.url)
  const socket = await connected(served)
  const received = heads(socket)
  socket.write(wire(served, 'GET', legacy('', {}, peer.session).headers))
  await received.untilThereAre(1)

  now += 60_000
  socket.destroy()
  while (served.http.counts().streams > 0) await turn()
  const reply = await peer.call('skills/list')
  now += 1_001
  const late = await peer.call('skills/list')

  expect([reply.status, late.status]).toEqual([200, 404])
  expect(served.http.counts()).toMatchObject({ sessions: 0 })
})

test('a connection on which nothing was ever sent does not hold up the end', async () => {
  await using daemon = await serveTidy()
  const silent = await connected(daemon.served)
  const gone = once(silent, 'close')
  await exchange(daemon.served.url, modern('skills/list'))

  const startedAt = performance.now()
  await daemon.served.http[Symbol.asyncDispose]()
  const tookMs = performance.now() - startedAt
  await gone

  expect(tookMs).toBeLessThan(GRACE_MS * 0.75)
})

test('a request on a connection that was open when the server began to stop is answered', async () => {
  await using daemon = await serveTidy()
  const { served } = daemon
  const { headers, body } = modern('resources/read', { uri: URI })
  const socket = await connected(served)
  const received = text(socket)
  await exchange(served.url, modern('skills/list'))

  const stopped = served.http[Symbol.asyncDispose]()
  await turn()
  socket.write(wire(served, 'POST', headers, body))
  await stopped

  expect(await received).toMatch(/^HTTP\/1\.1 200 .*# tidy/s)
})

test('a request that comes to its end while the server stops is answered, and then holds up nothing', async () => {
  await using daemon = await serveTidy()
  const { served } = daemon
  const { headers, body } = modern('resources/read', { uri: URI })
  const whole = wire(served, 'POST', headers, body)
  const socket = await connected(served)
  const received = text(socket)
  socket.write(whole.slice(0, -1))
  await exchange(served.url, modern('skills/list'))

  const startedAt = performance.now()
  const stopped = served.http[Symbol.asyncDispose]()
  socket.write(whole.slice(-1))
  await stopped
  const tookMs = performance.now() - startedAt

  expect(await received).toMatch(/^HTTP\/1\.1 200 .*# tidy/s)
  expect(tookMs).toBeLessThan(GRACE_MS / 2)
})

async function serveTidy(
  options: Parameters<typeof serve>[1] = {},
): Promise<{ readonly served: Served } & AsyncDisposable> {
  const repository = await Repository.create()
  await repository.commit({
    'tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies up\n---\n# tidy\n',
    'tidy/large.md': 'large\n'.repeat(2 ** 18),
  })
  const served = await serve(repository, options)
  return {
    served,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

async function connected({ url }: Served): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** A whole request as it stands on the wire. */
function wire({ url }: Served, method: string, headers: Readonly<Record<string, string>>, body?: object): string {
  const { host } = new URL(url)
  const payload = body === undefined ? '' : JSON.stringify(body)
  const length = body === undefined ? {} : { 'content-length': String(payload.length) }
  const lines = Object.entries({ host, ...length, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} /mcp HTTP/1.1\r\n${lines.join('')}\r\n${payload}`
}

/** The answers that came over a connection so far. */
function heads(socket: Socket): {
  statuses(): number[]
  text(): string
  untilThereAre(count: number): Promise<void>
} {
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
  const statuses = (): number[] => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return {
    statuses,
    text: () => received,
    async untilThereAre(count) {
      while (statuses().length < count) await once(socket, 'data')
    },
  }
}
