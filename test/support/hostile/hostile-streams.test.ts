import { expect, test } from 'vitest'
import { META, legacyHttp, modernHeaders, modernHttp } from '../clients/peer.ts'
import { HostileServer } from './hostile-server.ts'

const A = 'skill://a/SKILL.md'
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

const UPDATED = 'notifications/resources/updated'

test('a listen stream begins with what is acknowledged, and each message carries the id of the request', async () => {
  await using server = await HostileServer.start()
  await using peer = await modernHttp(server.url)
  server.honours = ({ resourceSubscriptions }) => ({ resourceSubscriptions: resourceSubscriptions?.slice(0, 1) ?? [] })
  await using heard = await peer.subscribe([A, 'skill://b'], { list: true })

  server.notify(UPDATED, { uri: 'skill://b' })
  server.notify('notifications/resources/list_changed')
  server.notify('notifications/message', { level: 'info' })
  server.notify(UPDATED, { uri: `${A}/below` }, (uri) => uri === A)
  await heard.next(({ method }) => method === UPDATED)

  const [listen] = server.of('subscriptions/listen')
  const _meta = { [SUBSCRIPTION]: listen?.id }
  expect(heard.messages.map(({ method, params }) => [method, params])).toEqual([
    ['notifications/subscriptions/acknowledged', { notifications: { resourceSubscriptions: [A] }, _meta }],
    ['notifications/message', { level: 'info', _meta }],
    [UPDATED, { uri: `${A}/below`, _meta }],
  ])
})

test('a listen request gets its result when the server stops, and at once where nothing is honoured', async () => {
  await using server = await HostileServer.start()
  await using peer = await modernHttp(server.url)
  await using heard = await peer.subscribe([A])

  server.endStreams()
  const stopped = await heard.next(({ result }) => result !== undefined)
  server.honours = () => ({})
  await using refused = await peer.subscribe([A])
  const ended = await refused.next(({ result }) => result !== undefined)

  const ids = server.of('subscriptions/listen').map(({ id }) => id)
  expect([stopped.id, ended.id]).toEqual(ids)
  expect(server.streams).toBe(0)
})

test('a session hears what it subscribed to, until it unsubscribes or ends', async () => {
  await using server = await HostileServer.start()
  await using peer = await legacyHttp(server.url)
  await using heard = await peer.subscribe([A, 'skill://b'])
  await peer.call('resources/unsubscribe', { uri: A })

  server.notify(UPDATED, { uri: A })
  server.notify(UPDATED, { uri: 'skill://b' })
  await heard.next(() => true)
  await fetch(server.url, { method: 'DELETE', headers: { 'mcp-session-id': peer.session } })
  await server.streaming(0)

  expect(heard.messages).toEqual([{ jsonrpc: '2.0', method: UPDATED, params: { uri: 'skill://b' } }])
  expect((await peer.call('ping')).status).toBe(404)
})

test('a stream that is dropped ends without a word, and what is poured on one arrives as it is', async () => {
  await using server = await HostileServer.start()
  await using peer = await modernHttp(server.url)
  await using heard = await peer.subscribe([A])

  server.pour('data: {"method":"poured"}\n\n')
  await heard.next(({ method }) => method === 'poured')
  server.dropStreams()

  await expect(heard.next(({ result }) => result !== undefined)).rejects.toThrow('The stream ended')
  expect(server.streams).toBe(0)
})

test('a session is unknown once sessions are forgotten, and there is none where none is opened', async () => {
  await using server = await HostileServer.start()
  await using peer = await legacyHttp(server.url)

  server.forgetSessions()
  const forgotten = await peer.call('ping')
  server.hasSessions = false
  await using other = await legacyHttp(server.url)

  expect(forgotten).toMatchObject({ status: 404, error: { message: 'Session not found' } })
  expect(other.session).toBe('')
  expect((await other.call('ping')).result).toEqual({})
})

test('subscribing is no method where it is not declared', async () => {
  await using server = await HostileServer.start()
  server.capabilities = { resources: {} }
  await using peer = await legacyHttp(server.url)

  const { error } = await peer.call('resources/subscribe', { uri: A })

  expect(error?.code).toBe(-32601)
})

test('a modern request is held to its headers and its revision', async () => {
  await using server = await HostileServer.start()
  const post = async (headers: Record<string, string>, version: string): Promise<unknown> => {
    const _meta = { ...META, 'io.modelcontextprotocol/protocolVersion': version }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta } })
    const response = await fetch(server.url, { method: 'POST', headers, body })
    return [response.status, JSON.parse((await response.text()) || '{}').error]
  }
  const headers = modernHeaders('ping', {})

  const wrong = await post({ ...headers, 'mcp-method': 'pong' }, '2026-07-28')
  const picky = await post({ ...headers, accept: 'application/json' }, '2026-07-28')
  server.versions = ['2027-01-01']
  const old = await post(headers, '2026-07-28')

  expect(wrong).toMatchObject([400, { code: -32020 }])
  expect(old).toMatchObject([400, { code: -32022, data: { supported: ['2027-01-01'], requested: '2026-07-28' } }])
  expect(picky).toMatchObject([406, { code: -32000 }])
})

test('the door answers before all else', async () => {
  await using server = await HostileServer.start()
  server.door = ({ headers }) => (headers.authorization === 'Bearer x' ? undefined : { raw: 'no', status: 401 })

  const [refused, known] = await Promise.all([
    fetch(server.url),
    fetch(server.url, { headers: { authorization: 'Bearer x' } }),
  ])

  expect([refused.status, await refused.text()]).toEqual([401, 'no'])
  expect(known.status).toBe(404)
  expect(server.requests).toEqual([])
})
