import { on, once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EventStream, EventStreams } from '../../../../src/serve/http/server/event-stream.ts'
import { EVERY_PART } from '../../../../src/serve/mcp/events/list-kinds.ts'
import type { ListPart } from '../../../../src/serve/mcp/events/list-kinds.ts'
import { updateOf } from '../../../../src/serve/mcp/events/subscriptions.ts'
import { NO_SESSION_LOG } from '../../../../src/serve/mcp/transports/session-store.ts'
import { openSessions } from '../opened.ts'

const MIB = 2 ** 20

const PLAIN: ReadonlySet<ListPart> = new Set<ListPart>(['skills'])

test('the head of a stream comes before its first event, and forbids to hold events back', async () => {
  await using pair = await openPair()

  const [head] = await once(pair.client, 'data')

  expect(String(head)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(String(head)).toMatch(/\r\ncontent-type: text\/event-stream\r\n/i)
  expect(String(head)).toMatch(/\r\ncache-control: no-cache, no-transform\r\n/i)
  expect(String(head)).toMatch(/\r\nx-accel-buffering: no\r\n/i)
})

test('a client that reads gets every message, in order', async () => {
  await using pair = await openPair()
  const messages = numbered(100)

  for (const message of messages) pair.stream.send(message)
  pair.stream.end()

  expect(messagesOf(await text(pair.client))).toEqual(messages)
})

test('while a client does not read, equal messages are held once', async () => {
  await using pair = await openPair()
  const filler = await fill(pair)

  for (let count = 0; count < 50_000; count += 1) pair.stream.send('{"again":"and again"}')
  pair.stream.end()

  expect(pair.response.destroyed).toBe(false)
  expect(messagesOf(await text(pair.client))).toEqual([...filler, '{"again":"and again"}'])
})

test('a message that was held is sent again once the client has read it', async () => {
  await using pair = await openPair()
  const filler = await fill(pair)
  pair.stream.send('{"same":true}')
  const drained = once(pair.response, 'drain')
  const received = text(pair.client)
  await drained

  pair.stream.send('{"same":true}')
  pair.stream.end()

  expect(messagesOf(await received)).toEqual([...filler, '{"same":true}', '{"same":true}'])
})

test.each([MIB, MIB / 16])(
  'a client that does not read is dropped when more than %i bytes wait for it',
  async (most) => {
    await using pair = await openPair({ maxPending: most })
    await fill(pair)
    const gone = once(pair.response, 'close')
    const message = (number: number): string => JSON.stringify({ number, padding: 'p'.repeat(1000) })

    let waiting = 0
    for (let number = 0; !pair.response.destroyed && waiting < 2 * most; number += 1) {
      pair.stream.send(message(number))
      waiting += message(number).length
      await turn()
    }
    await gone

    expect(waiting).toBeGreaterThan(most)
    expect(waiting).toBeLessThan(most + 2 * message(1000).length)
  },
)

test.each(['a stream', 'a stream that was ended to make room'])(
  '%s is closed when its client takes nothing of what waits for it, however little that is',
  async (kind) => {
    await using pair = await openPair()
    using streams = new EventStreams({ streams: 1, keepAliveMs: 5 })
    await fill(pair)
    const gone = once(pair.response, 'close')

    streams.add(pair.stream, () => {}, { holder: 'mallory' })
    if (kind !== 'a stream') streams.endThoseOf('mallory', () => streams.size > 0)
    pair.stream.send('{"waits":true}')
    await gone

    expect(pair.response.destroyed).toBe(true)
    expect(streams.size).toBe(0)
  },
)

test('a client that is slow and takes something between two looks keeps its stream', async () => {
  await using pair = await openPair()
  await fill(pair)

  pair.stream.keepAlive()
  pair.stream.keepAlive()
  const drained = once(pair.response, 'drain')
  pair.client.resume()
  await drained
  pair.client.pause()
  await fill(pair)
  pair.stream.keepAlive()
  pair.stream.keepAlive()

  expect(pair.response.destroyed).toBe(false)
})

test('a stream is forgotten at once when its client closes its side, also with something unread', async () => {
  await using pair = await openPair({ allowHalfOpen: true })
  using streams = new EventStreams({ streams: 1, keepAliveMs: 60_000 })
  streams.add(pair.stream, () => {})
  await fill(pair)
  const gone = once(pair.response, 'close')

  pair.client.end()
  await gone

  expect(streams.size).toBe(0)
})

test('a client that stops reading in the middle of a burst is dropped when it took nothing from one look to the next', async () => {
  await using pair = await openPair()
  const gone = once(pair.response, 'close')
  const drained = once(pair.response, 'drain')
  pair.client.resume()
  for (let number = 0; number < 30; number += 1) pair.stream.send(JSON.stringify({ number, padding: 'p'.repeat(MIB) }))
  await drained
  pair.client.pause()

  const isThere = !pair.response.destroyed
  let most = 0
  while (!pair.response.destroyed) {
    most = Math.max(most, pair.response.writableLength)
    pair.stream.keepAlive()
    await turn()
  }
  await gone

  expect(isThere).toBe(true)
  expect(most).toBeLessThan(3 * MIB)
  expect([...pair.stream.unsent].join('').length).toBeGreaterThan(MIB)
})

test('a client that reads gets every message of a burst, however large', async () => {
  await using pair = await openPair()
  const messages = numbered(40_000)
  const received = text(pair.client)

  for (const message of messages) pair.stream.send(message)
  await turn()
  pair.stream.end()

  expect(messages.join('').length).toBeGreaterThan(4 * MIB)
  expect(messagesOf(await received)).toEqual(messages)
})

test('what a session was not sent when its stream was dropped is sent on its next one', async () => {
  await using dropped = await openPair()
  await using next = await openPair()
  const { hub, sessions } = await openSessions()
  const { session } = sessions.open()!
  session.subscribe('skill://fx/alpha', 'skill://fx/alpha')
  session.listenOn(dropped.stream, EVERY_PART)
  await fill(dropped)

  hub.tell({
    updated: new Set(['skill://fx/alpha']),
    lists: [],
  })
  const gone = once(dropped.response, 'close')
  dropped.response.destroy()
  hub.tell({
    updated: new Set(['skill://fx/alpha']),
    lists: ['skills'],
  })
  await gone
  session.listenOn(next.stream, EVERY_PART)
  session.end()

  const methods = messagesOf(await text(next.client)).map((message) => JSON.parse(message).method)
  expect(methods).toEqual(['notifications/resources/updated', 'notifications/resources/list_changed'])
})

test.each([
  ['the part that only some see', ['contract'], 0],
  ['both parts', ['skills', 'contract'], 1],
] satisfies [string, ListPart[], number][])(
  'of a list that changed in %s, what was not sent is sent to who may hear it',
  async (_, lists, toldLess) => {
    await using dropped = await openPair()
    await using less = await openPair()
    await using full = await openPair()
    const { hub, sessions } = await openSessions()
    const { session } = sessions.open()!
    session.listenOn(dropped.stream, EVERY_PART)
    await fill(dropped)

    hub.tell({ updated: new Set(), lists })
    const gone = once(dropped.response, 'close')
    dropped.response.destroy()
    await gone
    session.listenOn(less.stream, PLAIN)
    const over = once(less.response, 'close')
    less.stream.end()
    const heard = messagesOf(await text(less.client))
    await over
    session.listenOn(full.stream, EVERY_PART)
    session.end()

    expect(heard).toHaveLength(toldLess)
    expect(messagesOf(await text(full.client))).toHaveLength(1)
  },
)

test('a message for a client that is gone is dropped', async () => {
  await using pair = await openPair()
  const gone = once(pair.response, 'close')
  pair.client.destroy()
  await gone

  pair.stream.send('{"late":true}')

  expect(pair.response.writableLength).toBe(0)
})

test('every stream is counted while it is open, and full is as many as were allowed', async () => {
  await using first = await openPair()
  await using second = await openPair()
  using streams = new EventStreams({ streams: 2, keepAliveMs: 60_000 })

  streams.add(first.stream, () => {})
  const withOne = { size: streams.size, isFull: streams.isFull }
  streams.add(second.stream, () => {})
  const withTwo = { size: streams.size, isFull: streams.isFull }
  const gone = once(first.response, 'close')
  first.client.destroy()
  await gone

  expect(withOne).toEqual({ size: 1, isFull: false })
  expect(withTwo).toEqual({ size: 2, isFull: true })
  expect(streams.size).toBe(1)
})

test('an idle stream carries comments, which are no events', async () => {
  await using pair = await openPair()
  using streams = new EventStreams({ streams: 1, keepAliveMs: 5 })
  streams.add(pair.stream, () => {})

  let received = ''
  for await (const chunk of pair.client) {
    received += String(chunk)
    if (received.split(': keep-alive\n\n').length > 2) break
  }

  expect(messagesOf(received)).toEqual([])
})

test('a stream that was ended while it waits for its turn on a connection is not kept alive', async () => {
  await using pair = await openPair({ pipelined: 2 })
  const [behind] = pair.behind
  const errors: unknown[] = []
  behind!.on('error', (error) => errors.push(error))
  const ended = new EventStream(behind!)
  using streams = new EventStreams({ streams: 2, keepAliveMs: 5 })
  streams.add(ended, () => {})
  streams.add(pair.stream, () => {})

  ended.end()
  let received = ''
  for await (const chunk of pair.client) {
    received += String(chunk)
    if (received.split(': keep-alive\n\n').length > 2) break
  }

  expect(behind!.writableFinished).toBe(false)
  expect(errors).toEqual([])
})

test('a write that comes after the end of a stream takes nothing with it', async () => {
  await using pair = await openPair()
  pair.stream.send('{"first":true}')
  pair.stream.end()

  pair.response.write('late')
  await turn()

  expect(messagesOf(await text(pair.client))).toEqual(['{"first":true}'])
})

test('when all streams are closed each says its farewell last', async () => {
  await using pair = await openPair()
  const streams = new EventStreams({ streams: 1, keepAliveMs: 60_000 })
  streams.add(pair.stream, () => pair.stream.send('{"farewell":true}'))
  pair.stream.send('{"first":true}')

  streams[Symbol.dispose]()

  expect(messagesOf(await text(pair.client))).toEqual(['{"first":true}', '{"farewell":true}'])
  expect(streams.size).toBe(0)
})

/** A stream to a client that reads nothing until it is told to. */
interface Pair extends AsyncDisposable {
  readonly stream: EventStream
  readonly response: ServerResponse
  /** The responses of the requests that came behind the first one, on the same connection. */
  readonly behind: readonly ServerResponse[]
  readonly client: Socket
}

async function openPair({ pipelined = 1, maxPending = MIB, allowHalfOpen = false } = {}): Promise<Pair> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen })
  const requests = on(server, 'request')
  client.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(pipelined - 1))
  client.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  const responses: ServerResponse[] = []
  for await (const [, response] of requests) if (responses.push(response) === pipelined) break
  const [response, ...behind] = responses
  // A socket that broke is what some tests are about.
  client.on('error', () => {})
  return {
    stream: new EventStream(response!, {}, maxPending),
    response: response!,
    behind,
    client,
    async [Symbol.asyncDispose]() {
      client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

test.each(['is told', 'catches up on'])(
  'a session that %s more than its socket takes at once has missed nothing once its client has read that',
  async (way) => {
    await using pair = await openPair()
    const kinds: string[] = []
    const log = { ...NO_SESSION_LOG, append: async ({ kind }: { readonly kind: string }) => void kinds.push(kind) }
    const { sessions } = await openSessions({ log })
    const { session } = sessions.open()!
    session.keep()
    await fill(pair)
    if (way === 'is told') session.listenOn(pair.stream, EVERY_PART)
    session.updated('skill://fx/a', updateOf('skill://fx/a'))
    sessions.told({ generation: 1, digest: '1' }, { generation: 2, digest: '2' })
    if (way !== 'is told') session.listenOn(pair.stream, EVERY_PART)
    const before = [...kinds]

    pair.client.resume()
    while (!pair.stream.isClear) await once(pair.response, 'drain')

    expect(before).toEqual(['opened', 'missed', 'told'])
    expect(kinds).toEqual([...before, 'caught-up'])
  },
)

test.each([
  ['was never shown the family has missed nothing', false, []],
  ['was shown it has missed that', true, ['missed']],
])('where only the list of the family changes, a session that %s', async (_, isShown, missed) => {
  await using pair = await openPair()
  await using other = await openPair()
  const kinds: string[] = []
  const log = { ...NO_SESSION_LOG, append: async ({ kind }: { readonly kind: string }) => void kinds.push(kind) }
  const { hub, sessions } = await openSessions({ log })
  const { session } = sessions.open()!
  session.keep()
  session.listenOn(pair.stream, isShown ? EVERY_PART : PLAIN)
  const over = once(pair.response, 'close')
  pair.stream.end()
  pair.client.resume()
  await over
  session.listenOn(other.stream, PLAIN)

  hub.tell({ updated: new Set(), lists: ['contract'] })
  sessions.told({ generation: 1, digest: '1' }, { generation: 2, digest: '2' })

  expect(kinds).toEqual(['opened', ...missed, 'told'])
})

test('that the list of prompts is another waits for a stream that may hear of it', async () => {
  await using dropped = await openPair()
  await using less = await openPair()
  await using full = await openPair()
  const { hub, sessions } = await openSessions()
  const { session } = sessions.open()!
  session.listenOn(dropped.stream, EVERY_PART)
  await fill(dropped)

  hub.tell({ updated: new Set(), lists: ['skills', 'prompts'] })
  const gone = once(dropped.response, 'close')
  dropped.response.destroy()
  await gone
  session.listenOn(less.stream, PLAIN)
  const over = once(less.response, 'close')
  less.stream.end()
  const heard = messagesOf(await text(less.client))
  await over
  session.listenOn(full.stream, EVERY_PART)
  session.end()

  const methods = [heard, messagesOf(await text(full.client))].map((messages) =>
    messages.map((message) => JSON.parse(message).method),
  )
  expect(methods).toEqual([['notifications/resources/list_changed'], ['notifications/prompts/list_changed']])
})

/** Sends messages until the machine's buffers are full and the client would have to read. Returns the messages. */
async function fill({ stream, response }: Pair): Promise<string[]> {
  const sent: string[] = []
  for (let idle = 0; idle < 10; idle = response.writableNeedDrain ? idle + 1 : 0) {
    while (!response.writableNeedDrain) {
      const message = JSON.stringify({ filler: sent.length, padding: 'f'.repeat(16_000) })
      sent.push(message)
      stream.send(message)
    }
    await turn()
  }
  return sent
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, number) => JSON.stringify({ number, padding: 'n'.repeat(100) }))
}

/** The messages of a response as it came over the socket, in chunks. */
function messagesOf(received: string): string[] {
  const [, ...chunks] = received.split('\r\n\r\n')
  const body = unchunked(chunks.join('\r\n\r\n'))
  return [...body.matchAll(/^data: (.*)$/gm)].map(([, message = '']) => message)
}

function unchunked(body: string): string {
  let plain = ''
  for (let at = 0; at < body.length;) {
    const lineEnd = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.slice(at, lineEnd), 16)
    plain += body.slice(lineEnd + 2, lineEnd + 2 + length)
    at = lineEnd + 2 + length + 2
  }
  return plain
}

test('a principal that has every session with a stream on each gives the oldest to one that comes', async () => {
  const { sessions } = await openSessions({ limits: { sessions: 3 } })
  const held = Array.from({ length: 3 }, () => sessions.open('mallory')!)
  await using first = await openPair()
  await using second = await openPair()
  await using third = await openPair()
  for (const [index, { stream }] of [first, second, third].entries()) held[index]!.session.listenOn(stream, EVERY_PART)

  const another = sessions.open('mallory')
  const honest = sessions.open('ada')

  expect(another).toBeUndefined()
  expect(honest).toBeDefined()
  expect(held.map(({ id }) => sessions.find(id, 'mallory') !== undefined)).toEqual([false, true, true])
})

test('a holder that has every stream gives the one that it opened first to another, and is refused another itself', async () => {
  await using first = await openPair()
  await using second = await openPair()
  await using third = await openPair()
  using streams = new EventStreams({ streams: 2, keepAliveMs: 60_000 })
  const farewells: string[] = []
  streams.add(first.stream, () => farewells.push('first'), { holder: 'mallory' })
  streams.add(second.stream, () => farewells.push('second'), { holder: 'mallory' })

  const another = streams.hasRoomFor('mallory')
  const honest = streams.hasRoomFor('ada')
  streams.add(third.stream, () => farewells.push('third'), { holder: 'ada' })
  const more = [streams.hasRoomFor('ada'), streams.hasRoomFor('mallory')]

  expect([another, honest, ...more]).toEqual([false, true, false, false])
  expect(farewells).toEqual(['first'])
  expect(streams.size).toBe(2)
})
