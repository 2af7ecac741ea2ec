import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import type { AuditEvent } from '../../../../../src/serve/audit.ts'
import type { ReadContent } from '../../../../../src/serve/content.ts'
import { MAX_SUBSCRIPTIONS } from '../../../../../src/serve/mcp/rpc/caller.ts'
import { serveStream } from '../../../../../src/serve/mcp/transports/stdio/stdio.ts'
import { Registry } from '../../../../../src/serve/registry.ts'
import { formsOf } from '../../../../support/clients/forms.ts'
import { META, hear } from '../../../../support/clients/peer.ts'
import type { Heard } from '../../../../support/clients/peer.ts'
import { skillText } from '../../../../support/git/scripted-upstream.ts'
import { catalogsOf } from '../../../../sync/catalog/catalogs.ts'

const TOO_MANY = { code: -32602, message: expect.stringMatching(/^A session can subscribe to 10000 resources;/) }

test('a request that takes the id of a cancelled read is answered as what it is', async () => {
  const reading = Promise.withResolvers<void>()
  await using client = await open('legacy', async () => {
    reading.resolve()
    return new Promise(() => {})
  })

  client.send({ id: 7, method: 'resources/read', params: { uri: SPELLINGS[0] } })
  await reading.promise
  client.send({ method: 'notifications/cancelled', params: { requestId: 7 } })
  const reply = await client.call(7, 'skills/get', { uri: 'skill://team/nowhere/SKILL.md' })

  expect(reply.error).toMatchObject({ code: -32602, data: { uri: 'skill://team/nowhere/SKILL.md' } })
})

test('of two requests under one id each is answered as what it is, and remembered so', async () => {
  const [reading, bytes] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()]
  await using client = await open('legacy', async () => {
    reading.resolve()
    return bytes.promise
  })

  client.send({ id: 7, method: 'resources/read', params: { uri: SPELLINGS[0] } })
  await reading.promise
  const second = await client.call(7, 'skills/list', {})
  bytes.resolve(undefined)
  const first = await client.heard.next(({ id, error }) => id === 7 && error !== undefined)

  expect([second.result.skills.length, first.error.message]).toEqual([1, expect.stringContaining('damaged')])
  expect(client.events).toMatchObject([
    { asked: 'skills/list', allowed: true },
    { asked: 'resources/read', allowed: false, why: first.error.message },
  ])
})

test('a request that was taken back is never answered, also where another came under its id', async () => {
  const [reading, bytes] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()]
  await using client = await open('modern', async () => {
    reading.resolve()
    return bytes.promise
  })

  client.send({ id: 7, method: 'resources/read', params: { uri: SPELLINGS[0], _meta: META } })
  await reading.promise
  client.send({ method: 'notifications/cancelled', params: { requestId: 7 } })
  client.send({ method: 'notifications/cancelled', params: { requestId: '7' } })
  bytes.resolve(undefined)
  await client.call(7, 'skills/list', {})
  await client.call('last', 'skills/list', {})

  expect(client.heard.messages.filter(({ id }) => id === 7)).toHaveLength(1)
  expect(client.events).toMatchObject([
    { asked: 'resources/read', allowed: false, why: 'the client took it back' },
    { asked: 'skills/list', allowed: true },
    { asked: 'skills/list', allowed: true },
  ])
})

test.each(['legacy', 'modern'] as const)('what a %s client asked before it closed its end is answered', async (era) => {
  const bytes = Promise.withResolvers<undefined>()
  await using client = await open(era, async () => bytes.promise)
  if (era === 'modern') await client.listen('open', SPELLINGS.slice(0, 1))
  const params = { uri: SPELLINGS[0], ...(era === 'modern' && { _meta: META }) }

  client.send({ id: 1, method: 'resources/read', params })
  client.send({ id: 2, method: 'skills/list', params })
  await client.end()
  bytes.resolve(undefined)
  await client.served

  expect(client.heard.messages).toContainEqual(expect.objectContaining({ id: 1 }))
  expect(client.events.map(({ asked }) => asked).slice(-2)).toEqual(['skills/list', 'resources/read'])
})

test.each([
  ['whole', 1e6],
  ['in pieces of a byte', 1],
  ['in pieces of 7 bytes', 7],
])('each message of a batch is answered, which arrives %s', async (_, size) => {
  await using client = await open('legacy')
  const messages = [{ id: 9 }, { id: 1 }, { method: 'notifications/initialized' }, { id: 2, method: 'skills/list' }]
  const [before, ...batch] = messages.map((message) => Object.assign({ jsonrpc: '2.0', method: 'ping' }, message))
  const lines = [before, batch, { jsonrpc: '2.0', id: 3, method: 'ping' }]

  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  for (let from = 0; from < text.length; from += size) client.write(text.slice(from, from + size))

  for (const id of [9, 1, 2, 3])
    expect(await client.heard.next((message) => message.id === id)).toMatchObject({ result: expect.anything() })
})

test.each([
  '[]\n',
  '[1, "a", null, [[]], {}]\n',
  '[[[[\n',
  `[${' '.repeat(2 ** 19)}]\n`,
  '[{"jsonrpc":"2.0"'.repeat(9) + '\n',
])('a line that is no batch (%#) leaves the connection as it is', async (line) => {
  await using client = await open('legacy')

  client.write(line)

  expect(await client.call(1, 'ping', {})).toMatchObject({ result: {} })
})

test('a connection whose input has ended ends, however long an answer takes', async () => {
  await using client = await open('legacy', async () => new Promise(() => {}), 10)

  client.send({ id: 1, method: 'resources/read', params: { uri: SPELLINGS[0] } })
  await client.end()
  await client.served

  expect(client.events).toMatchObject([
    { asked: 'resources/read', allowed: false, why: 'the connection ended before it was answered' },
  ])
})

test.each(['legacy', 'modern'] as const)(
  'of what a %s client asks at once, so much is worked on, and all is answered',
  async (era) => {
    const gate = Promise.withResolvers<void>()
    const work = { now: 0, most: 0 }
    await using client = await open(era, async () => {
      work.now += 1
      work.most = Math.max(work.most, work.now)
      await gate.promise
      work.now -= 1
      return undefined
    })
    const params = { uri: SPELLINGS[0], ...(era === 'modern' && { _meta: META }) }
    const ids = Array.from({ length: 400 }, (_, index) => index)

    for (const id of ids) client.send({ id, method: 'resources/read', params })
    client.send({ method: 'notifications/cancelled', params: { requestId: 399 } })
    const ended = client.end()
    await vi.waitFor(() => expect(work.most).toBe(100))
    gate.resolve()
    await ended
    await client.served

    const answered = new Set(client.heard.messages.map(({ id }) => id))
    expect(ids.filter((id) => !answered.has(id))).toEqual([399])
    expect(work.most).toBe(100)
  },
)

test('a client of the 2025 era that has as many subscriptions as there may be is refused another', async () => {
  await using client = await open('legacy')
  for (const uri of SPELLINGS.slice(1, MAX_SUBSCRIPTIONS)) client.send({ id: uri, method: SUBSCRIBE, params: { uri } })

  const last = await client.call('last', SUBSCRIBE, { uri: SPELLINGS[0] })
  const again = await client.call('again', SUBSCRIBE, { uri: SPELLINGS[0] })
  const refused = await client.call('refused', SUBSCRIBE, { uri: SPELLINGS[MAX_SUBSCRIPTIONS] })
  await client.call('less', 'resources/unsubscribe', { uri: SPELLINGS[0] })
  const taken = await client.call('taken', SUBSCRIBE, { uri: SPELLINGS[MAX_SUBSCRIPTIONS] })

  expect([last, again, taken].map(({ result }) => result)).toEqual([{}, {}, {}])
  expect(refused.error).toMatchObject(TOO_MANY)
})

test('a client that listens to as many resources as it may is refused another listen, until it cancels one', async () => {
  await using client = await open('modern')
  const half = MAX_SUBSCRIPTIONS / 2
  await client.listen('one', SPELLINGS.slice(0, half))
  await client.listen('two', SPELLINGS.slice(half, 2 * half))

  const refused = await client.call('three', LISTEN, filterOf(SPELLINGS.slice(-1)))
  client.send({ method: 'notifications/cancelled', params: { requestId: 'one' } })
  const taken = await client.listen('four', SPELLINGS.slice(-1))
  client.publish()
  await client.heard.next(({ params }) => params?.uri === SPELLINGS.at(-1))

  expect(refused.error).toMatchObject(TOO_MANY)
  expect(taken.params.notifications).toEqual({ resourceSubscriptions: SPELLINGS.slice(-1) })
  const told = client.heard.messages.filter(({ method }) => method === 'notifications/resources/updated')
  expect(new Set(told.map(({ params }) => params._meta[SUBSCRIPTION_ID]))).toEqual(new Set(['two', 'four']))
})

test('a listen request that was refused counts for nothing', async () => {
  await using client = await open('modern')
  await client.call('first', 'skills/list', {})
  const uris = SPELLINGS.slice(0, MAX_SUBSCRIPTIONS)

  client.send({ id: 'no envelope', method: LISTEN, params: filterOf(uris) })
  const refused = await client.heard.next(({ id }) => id === 'no envelope')
  const taken = await client.listen('whole', uris)

  expect(refused.error.code).toBe(-32602)
  expect(taken.params.notifications.resourceSubscriptions).toHaveLength(MAX_SUBSCRIPTIONS)
})

const SUBSCRIBE = 'resources/subscribe'
const LISTEN = 'subscriptions/listen'
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** More ways than one may subscribe to of writing the URI of one SKILL.md: each letter of a name as it is, or encoded. */
const SPELLINGS = Array.from({ length: MAX_SUBSCRIPTIONS + 1 }, (_, index) => {
  const bits = index.toString(2).padStart(14, '0')
  return `skill://team/${bits.replaceAll('1', '%61').replaceAll('0', 'a')}/SKILL.md`
})

function filterOf(uris: readonly string[]): object {
  return { notifications: { resourceSubscriptions: uris } }
}

// oxlint-disable-next-line typescript/no-explicit-any -- what is on the wire has no type
type Message = any

interface Client extends AsyncDisposable {
  readonly heard: Heard
  /** What is remembered of it. */
  readonly events: readonly AuditEvent[]
  /** Resolves once it is served no more. */
  readonly served: Promise<void>
  /** Closes its end, and resolves once that was noticed. */
  end(): Promise<void>
  send(message: object): void
  call(id: string | number, method: string, params: object): Promise<Message>
  /** Writes a part of the input as it is. */
  write(text: string): void
  /** Resolves with the acknowledgement. */
  listen(id: string, uris: readonly string[]): Promise<Message>
  /** Has the one skill that is served changed. */
  publish(): void
}

/** A client of a server in this process, over two streams; its first message is answered. */
async function open(
  era: 'legacy' | 'modern',
  read: ReadContent = async () => undefined,
  graceMs?: number,
): Promise<Client> {
  const events: AuditEvent[] = []
  const files = (body: string) => ({ [`${'a'.repeat(14)}/SKILL.md`]: skillText('a'.repeat(14), '', body) })
  const [before, after] = await catalogsOf([files('Before'), files('After')])
  const registry = new Registry()
  registry.publish(before!)
  const [input, stop] = [new PassThrough(), new AbortController()]
  // Room for thousands of answers at once: each that waits for room would be a listener of its own.
  const output = new PassThrough({ highWaterMark: 2 ** 24 })
  const served = serveStream(
    {
      registry,
      read,
      cache: { ttlMs: 0, cacheScope: 'public' },
      pages: { entries: 100, bytes: 100_000 },
      forms: formsOf(),
      audit: (event) => void events.push(event),
    },
    { input, output, graceMs },
    stop.signal,
  )
  const heard = hear(messagesOf(output), async () => {})
  const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const call = async (id: string | number, method: string, params: object): Promise<Message> => {
    send({ id, method, params: era === 'modern' ? { ...params, _meta: META } : params })
    return heard.next((message) => message.id === id)
  }
  await call('opening', era === 'modern' ? 'server/discover' : 'initialize', era === 'modern' ? {} : INITIALIZE)
  return {
    heard,
    events,
    served,
    async end() {
      input.end()
      await once(input, 'end')
    },
    send,
    write: (text) => void input.write(text),
    call,
    async listen(id, uris) {
      send({ id, method: LISTEN, params: { ...filterOf(uris), _meta: META } })
      return heard.next(({ id: answered, params }) => answered === id || params?._meta?.[SUBSCRIPTION_ID] === id)
    },
    publish: () => registry.publish(after!),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await served
    },
  }
}

async function* messagesOf(output: PassThrough): AsyncGenerator<Message> {
  for await (const line of createInterface({ input: output })) yield JSON.parse(line)
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}
