import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { OPEN_TO_ALL } from '../../../../src/serve/http/http-access.ts'
import { MAX_SUBSCRIPTIONS } from '../../../../src/serve/mcp/rpc/caller.ts'
import { filterOf } from '../../../../src/serve/mcp/transports/listen-stream.ts'
import { NO_SESSION_LOG } from '../../../../src/serve/mcp/transports/session-store.ts'
import type { SessionLog, SessionRecord } from '../../../../src/serve/mcp/transports/session-store.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { serveHttp } from '../../../../src/serve/site/server.ts'
import type { HttpServer } from '../../../../src/serve/site/server.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { META, eventsOf, hear, modernHeaders } from '../../../support/clients/peer.ts'
import type { Heard } from '../../../support/clients/peer.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

test('a session whose client stops reading loses its stream, and what it missed is told on the next one', async () => {
  await using scene = await openScene({ keepAliveMs: 100 })
  const slow = await scene.session()
  const other = await scene.session()
  await using heard = await scene.hear(other)
  const socket = await scene.stuck(`GET /mcp HTTP/1.1\r\nmcp-session-id: ${slow}\r\n`)

  const publishes = await scene.publishUntilDropped(1)
  await heard.next(() => heard.messages.length >= publishes * URIS.length)
  await using again = await scene.hear(slow)
  await again.next(({ params }) => params.uri === URIS.at(-1))
  socket.destroy()

  const told = heard.messages.map(({ params }) => params.uri)
  expect(told).toEqual(Array(publishes).fill(URIS).flat())
  const missed = new Set(again.messages.map(({ params }) => params.uri))
  expect(missed.size).toBe(again.messages.length)
  expect(missed).toEqual(new Set(URIS.slice(-missed.size)))
  expect(scene.http.counts()).toMatchObject({ sessions: 2, streams: 2 })
})

test('a listener of 2026-07-28 that stops reading loses its place, and others hear on', async () => {
  await using scene = await openScene({ keepAliveMs: 100 })
  const other = await scene.session()
  await using heard = await scene.hear(other)
  const notifications = { resourceSubscriptions: URIS }
  const params = { notifications, _meta: META }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
  const headers = Object.entries({ ...modernHeaders('subscriptions/listen', {}), 'content-length': `${body.length}` })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const socket = await scene.stuck(`POST /mcp HTTP/1.1\r\n${lines}`, body)

  const publishes = await scene.publishUntilDropped(1)
  await heard.next(() => heard.messages.length >= publishes * URIS.length)
  socket.destroy()

  expect(heard.messages.map((message) => message.params.uri)).toEqual(Array(publishes).fill(URIS).flat())
  expect(scene.http.counts()).toMatchObject({ streams: 1 })
})

test('a listen request takes as many URIs as a session may subscribe to, and no more', async () => {
  await using scene = await openScene()
  const spellings = Array.from({ length: MAX_SUBSCRIPTIONS + 1 }, (_, index) => spelt(SKILL, index))
  const ask = async (uris: readonly string[]): Promise<Response> => {
    const params = { notifications: { resourceSubscriptions: uris }, _meta: META }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
    return fetch(scene.url, { method: 'POST', headers: modernHeaders('subscriptions/listen', {}), body })
  }

  const refused = await ask(spellings)
  const taken = await ask(spellings.slice(1))

  expect(await refused.json()).toMatchObject({ error: { code: -32602 } })
  expect(taken.headers.get('content-type')).toBe('text/event-stream')
  expect(scene.http.counts()).toMatchObject({ streams: 1, subscribedUris: 1 })
  await taken.body?.cancel()
})

test('others are served while ten thousand URIs are looked up, and what is published meanwhile decides what is honoured', async () => {
  const registry = new Registry()
  await using scene = await openScene({ registry })
  const spellings = Array.from({ length: MAX_SUBSCRIPTIONS - 1 }, (_, index) => spelt(SKILL, index))
  const request = { params: { notifications: { resourceSubscriptions: [...spellings, URIS[0]!, OTHER] } } }
  const filtering = filterOf(request, { registry, forms: formsOf() }, undefined)
  let isDone = false
  void filtering.then(() => (isDone = true))
  await turn()
  const wasDone = isDone

  registry.publish(catalogAt(1, 'other'))
  const { honoured, wanted } = await filtering

  expect(wasDone).toBe(false)
  expect(scene.http.counts()).toMatchObject({ subscribedUris: 0 })
  expect(honoured.resourceSubscriptions).toEqual([OTHER])
  expect([...wanted]).toEqual([[OTHER, OTHER]])
})

test('of 2025-11-25: five hundred sessions with a stream that were opened and ended leave nothing behind', async () => {
  await using scene = await openScene()
  const opened: { readonly session: string; readonly heard: Heard }[] = []
  const open = async (index: number): Promise<void> => {
    const response = await scene.post({ method: 'initialize', params: INITIALIZE })
    const session = response.headers.get('mcp-session-id')!
    await scene.post({ method: 'resources/subscribe', params: { uri: URIS[index] } }, session)
    opened.push({ session, heard: await scene.hear(session) })
  }

  // Fewer at once than connections may wait to be taken.
  for (let from = 0; from < 500; from += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => open(from + index)))
  }
  const most = scene.http.counts()
  for (const { session, heard } of opened.slice(250)) {
    await heard[Symbol.asyncDispose]()
    await fetch(scene.url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
  }
  // Whoever says that it is done while it listens is done all the same.
  for (const { session } of opened.slice(0, 250)) {
    await fetch(scene.url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
  }
  for (let turns = 0; turns < 100_000 && scene.http.counts().streams > 0; turns += 1) await turn()

  expect(most).toEqual({ sessions: 500, streams: 500, subscribedUris: 500 })
  expect(scene.http.counts()).toEqual({ sessions: 0, streams: 0, subscribedUris: 0 })
})

test('a request that changes a session is answered when that is written, and not before', async () => {
  const log = heldLog()
  await using scene = await openScene({ sessionLog: log })

  for (const [kind, ask] of [
    ['opened', () => scene.post({ method: 'initialize', params: INITIALIZE })],
    ['subscribed', () => scene.post({ method: 'resources/subscribe', params: { uri: URIS[0] } }, scene.last)],
    ['unsubscribed', () => scene.post({ method: 'resources/unsubscribe', params: { uri: URIS[0] } }, scene.last)],
    ['ended', () => fetch(scene.url, { method: 'DELETE', headers: { 'mcp-session-id': scene.last } })],
  ] as const) {
    const order: string[] = []
    const asked = ask().then((response) => {
      order.push('answered')
      scene.last = response.headers.get('mcp-session-id') ?? scene.last
      return response.status
    })
    const held = await log.next()
    // Were there an answer already, it would be here before that of a request that is made now.
    await fetch(scene.url, { method: 'PUT' })
    order.push('written')
    held.resolve()

    expect(held.record.kind).toBe(kind)
    expect(await asked).toBe(200)
    expect(order).toEqual(['written', 'answered'])
  }
})

interface SceneOptions {
  readonly registry?: Registry
  readonly sessionLog?: SessionLog
  /** How often it is looked whether a client reads. */
  readonly keepAliveMs?: number
}

test('a server that could not be started listens to nothing', async () => {
  const registry = new Registry()
  const told: SessionRecord[] = []
  const sessionLog: SessionLog = {
    ...NO_SESSION_LOG,
    load: async () => {
      throw new Error('The disk is gone')
    },
    append: async (record) => void told.push(record),
  }
  const starting = openScene({ registry, sessionLog })
  await expect(starting).rejects.toThrow('The disk is gone')

  registry.publish(catalogAt(1))

  expect(told).toEqual([])
})

/** So long that one publish of all comes to more than 1 MiB. */
const FILES = Array.from({ length: 800 }, (_, index) => `${String(index).padStart(3, '0')}${'x'.repeat(1_500)}`)
const URIS = FILES.map((file) => `skill://team/one/${file}`)

const SKILL = 'skill://team/one/SKILL.md'
const OTHER = 'skill://team/other/SKILL.md'

/** One of very many ways to write the URI: each letter stands for itself or is encoded, by the bits of a number. */
function spelt(uri: string, number: number): string {
  let bits = number
  return uri.replace(/(?<=.{8})[a-zA-Z]/g, (letter) => {
    const isEncoded = bits % 2 === 1
    bits = Math.floor(bits / 2)
    return isEncoded ? `%${letter.charCodeAt(0).toString(16)}` : letter
  })
}

const INITIALIZE = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

async function openScene({
  sessionLog = NO_SESSION_LOG,
  keepAliveMs = 15_000,
  registry = new Registry(),
}: SceneOptions = {}) {
  registry.publish(catalogAt(0))
  const limits = { headersMs: 10_000, requestMs: 30_000, connections: 2_000, bodyBytes: 2 ** 21, streams: 600 }
  const http: HttpServer = await serveHttp(
    {
      registry,
      read: async () => undefined,
      forms: formsOf(),
      pages: { entries: 100, bytes: 2 ** 20 },
      cache: { ttlMs: 0, cacheScope: 'public' },
    },
    {
      host: '127.0.0.1',
      port: 0,
      limits: { ...limits, keepAliveMs, sessions: { sessions: 600, idleMs: 60_000 } },
      now: () => performance.now(),
      access: OPEN_TO_ALL,
      sessionLog,
      onError: (error) => {
        throw error
      },
    },
  )
  const url = `${http.url}/mcp`
  const sockets: Socket[] = []
  const scene = {
    http,
    url,
    /** The session that was opened last. */
    last: '',
    /** Returns the answer when all of it was read: a connection is free again then. */
    async post(request: object | readonly object[], session?: string): Promise<Response> {
      const messages = [request].flat().map((one, id) => Object.assign({ jsonrpc: '2.0', id }, one))
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        body: JSON.stringify(Array.isArray(request) ? messages : messages[0]),
      })
      await response.arrayBuffer()
      return response
    },
    /** A session that is subscribed to every file. */
    async session(): Promise<string> {
      const session = (await scene.post({ method: 'initialize', params: INITIALIZE })).headers.get('mcp-session-id')!
      for (let from = 0; from < URIS.length; from += 100) {
        const uris = URIS.slice(from, from + 100)
        await scene.post(
          uris.map((uri) => ({ method: 'resources/subscribe', params: { uri } })),
          session,
        )
      }
      return session
    },
    async hear(session: string): Promise<Heard> {
      const stop = new AbortController()
      const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
      const response = await fetch(url, { headers, signal: stop.signal })
      return hear(eventsOf(response), async () => stop.abort())
    },
    /** Opens a stream on a connection that reads no more than the head of the answer. */
    async stuck(head: string, body = ''): Promise<Socket> {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      sockets.push(socket)
      // That it is broken is what these tests are about.
      socket.on('error', () => {})
      socket.write(
        `${head}host: localhost\r\n${head.includes('accept') ? '' : 'accept: text/event-stream\r\n'}\r\n${body}`,
      )
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
      socket.pause()
      return socket
    },
    /** Publishes again and again until so many streams are left. Returns how often. */
    async publishUntilDropped(left: number): Promise<number> {
      const streams = http.counts().streams
      expect(streams).toBeGreaterThan(left)
      let publishes = 0
      for (; http.counts().streams > left && publishes < 200; publishes += 1) {
        registry.publish(catalogAt(publishes + 1))
        for (let turns = 0; turns < 20; turns += 1) await turn()
      }
      expect(http.counts().streams).toBe(left)
      return publishes
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await http[Symbol.asyncDispose]()
    },
  }
  return scene
}

function catalogAt(version: number, name = 'one'): Catalog {
  const files = Object.fromEntries(FILES.map((file) => [file, `version ${version}\n`]))
  const source = sourceId('team')
  const snapshot = { ...snapshotOf(sample(name, { 'SKILL.md': 'one\n', ...files })), source }
  const generation = { number: version + 1, createdAt: '', sources: [{ source, snapshot: String(version) }] }
  return buildCatalog(generation, [snapshot])
}

/** A log that writes a record when the test says so. */
function heldLog() {
  const held: { record: SessionRecord; resolve: () => void }[] = []
  let arrived = Promise.withResolvers<void>()
  return {
    ...NO_SESSION_LOG,
    async append(record: SessionRecord): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.push({ record, resolve })
      arrived.resolve()
      await promise
    },
    async next() {
      while (held.length === 0) await arrived.promise
      arrived = Promise.withResolvers<void>()
      return held.shift()!
    },
  }
}
