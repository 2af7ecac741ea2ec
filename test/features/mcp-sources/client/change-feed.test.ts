import { expect, test } from 'vitest'
import type {
  ChangeNotice,
  Watch,
  SubscriptionRequest,
} from '../../../../src/features/mcp-sources/client/change-feed.ts'
import type { McpConnection } from '../../../../src/features/mcp-sources/client/mcp-connection.ts'
import {
  NEVER,
  connect,
  error,
  legacy,
  listening,
  modern,
  result,
  sdkServer,
  sessionServer,
  type Heard,
} from '../upstream/servers.ts'

const A = 'skill://a/SKILL.md'
const B = 'skill://b/SKILL.md'

test.each([
  ['modern', sdkServer],
  ['legacy', sessionServer],
])('a server of the SDK tells what is watched in the %s era, and nothing else', async (era, open) => {
  await using server = await open()
  await using connection = await connect(server.address)
  const heard = new Hearing()
  await using watch = await heard.at(connection, { list: true, uris: [A] })

  await server.updated(B)
  await server.updated(A)
  await heard.next(1)
  await server.listChanged()
  await heard.next(2)

  expect(connection.greeting.era).toBe(era)
  expect(watch.honoured).toEqual({ list: true, uris: [A] })
  expect(heard.notices).toEqual([{ kind: 'updated', uri: A }, { kind: 'list' }])
})

test.each([
  ['modern', sdkServer],
  ['legacy', sessionServer],
])('a stream that is dropped in the %s era ends the watch, and the next one hears again', async (_, open) => {
  await using server = await open()
  await using connection = await connect(server.address)
  const heard = new Hearing()
  await using first = await heard.at(connection, { list: false, uris: [A] })

  await server.drop()
  await first.ended
  await using second = await heard.at(connection, { list: false, uris: [A, B] })
  await server.updated(B)
  await heard.next(1)

  expect(second.honoured.uris).toEqual([A, B])
  expect(heard.notices).toEqual([{ kind: 'updated', uri: B }])
})

test('a watch that is left is taken back, and what is told later is for nobody', async () => {
  await using server = await sessionServer()
  await using connection = await connect(server.address)
  const heard = new Hearing()
  const watch = await heard.at(connection, { list: true, uris: [A, B] })

  await watch[Symbol.asyncDispose]()
  await server.updated(A)
  await connection.request('resources/list', {}, NEVER)

  await watch.ended
  expect(server.subscribed.size).toBe(0)
  expect(heard.notices).toEqual([])
})

test('of a wish the modern server may take a part', async () => {
  await using server = await modern((heard) => {
    if (heard.body.method === 'subscriptions/listen')
      agree(heard, { resourceSubscriptions: [A, 'skill://nobody/asked'] })
  })
  await using connection = await connect(server.address)

  await using watch = await new Hearing().at(connection, { list: true, uris: [A, B] })

  expect(watch.honoured).toEqual({ list: false, uris: [A] })
  const listens = server.heard.filter(({ body }) => body.method === 'subscriptions/listen')
  expect(listens.map(({ body }) => body.params.notifications)).toEqual([
    { resourcesListChanged: true, resourceSubscriptions: [A, B] },
  ])
})

test.each<readonly [string, (heard: Heard) => void]>([
  ['refuses to listen', (heard) => error(heard, -32601, undefined, 404)],
  ['agrees to nothing', (heard) => agree(heard, {})],
  ['ends the stream at once', ({ response }) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end()],
  ['fails', ({ response }) => response.writeHead(500).end()],
  ['says nothing', () => {}],
])('a modern server that %s is not heard, and that is no error', async (_, answer) => {
  await using server = await modern((heard) => (heard.body.method === 'x/y' ? result(heard, {}) : answer(heard)))
  await using connection = await connect(server.address, { requestMs: 500 })

  const watch = await new Hearing().at(connection, { list: true, uris: [A] })

  await watch.ended
  expect(watch.honoured).toEqual({ list: false, uris: [] })
  await expect(connection.request('x/y', {}, NEVER)).resolves.toMatchObject({ ok: true })
})

test('what is told under another subscription, of another resource or in another way is not heard', async () => {
  await using server = await modern((heard) => {
    agree(heard, { resourceSubscriptions: [A] })
    tell(heard, 'notifications/resources/updated', { uri: A, _meta: { [SUBSCRIPTION]: 'other' } })
    tell(heard, 'notifications/resources/updated', { uri: A })
    tell(heard, 'notifications/message', { level: 'info', data: A, _meta: { [SUBSCRIPTION]: heard.body.id } })
    tell(heard, 'x/unheard', { uri: A, _meta: { [SUBSCRIPTION]: heard.body.id } })
    tell(heard, 'notifications/resources/list_changed', { _meta: { [SUBSCRIPTION]: heard.body.id } })
    for (const uri of [B, 7, `${A}/below`]) {
      tell(heard, 'notifications/resources/updated', { uri, _meta: { [SUBSCRIPTION]: heard.body.id } })
    }
    heard.response.end()
  })
  await using connection = await connect(server.address)
  const heard = new Hearing()

  await using watch = await heard.at(connection, { list: true, uris: [A] })
  await watch.ended

  expect(heard.notices).toEqual([{ kind: 'updated', uri: `${A}/below` }])
})

test.each([
  ['nothing', {}],
  ['resources', { resources: {} }],
  ['a list of nothing, as PHP does', []],
])('a legacy server that declares %s is not asked to tell anything', async (_, capabilities) => {
  await using server = await legacy((heard) => result(heard, {}), undefined, capabilities)
  await using connection = await connect(server.address)

  const watch = await new Hearing().at(connection, { list: true, uris: [A] })

  await watch.ended
  expect(watch.honoured).toEqual({ list: false, uris: [] })
  expect(server.methods).not.toContain('resources/subscribe')
})

test('a legacy server is heard where its redirect within the origin leads', async () => {
  const capabilities = { resources: { listChanged: true } }
  await using server = await listening((heard) => {
    const { http, path, body, response } = heard
    if (path === '/mcp') return response.writeHead(307, { location: '/mcp/' }).end()
    if (body?.method === 'server/discover') return error(heard, -32601)
    if (body?.method === 'initialize') return result(heard, { protocolVersion: '2025-11-25', capabilities })
    if (http !== 'GET') return response.writeHead(202).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  await using connection = await connect(server.address)

  await using watch = await new Hearing().at(connection, { list: true, uris: [A] })

  expect(watch.honoured).toEqual({ list: true, uris: [] })
})

test('a legacy server without a stream is asked for nothing', async () => {
  const capabilities = { resources: { subscribe: true, listChanged: true } }
  await using server = await legacy((heard) => result(heard, {}), undefined, capabilities)
  await using connection = await connect(server.address)

  const watch = await new Hearing().at(connection, { list: true, uris: [A] })

  expect(watch.honoured).toEqual({ list: false, uris: [] })
  expect(server.methods).not.toContain('resources/subscribe')
})

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

function agree(heard: Heard, notifications: unknown): void {
  heard.response.writeHead(200, { 'content-type': 'text/event-stream' })
  const params = { _meta: { [SUBSCRIPTION]: heard.body.id }, notifications }
  tell(heard, 'notifications/subscriptions/acknowledged', params)
}

function tell({ response }: Heard, method: string, params: unknown): void {
  response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`)
}

class Hearing {
  readonly notices: ChangeNotice[] = []
  readonly #awaited = new Map<number, () => void>()

  at(connection: McpConnection, wish: SubscriptionRequest): Promise<Watch> {
    return connection.watch(wish, (notice) => this.#take(notice), NEVER)
  }

  /** Resolves when so many have been heard in all. */
  async next(count: number): Promise<void> {
    if (this.notices.length >= count) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited.set(count, resolve)
    await promise
  }

  #take(notice: ChangeNotice): void {
    this.notices.push(notice)
    this.#awaited.get(this.notices.length)?.()
  }
}
