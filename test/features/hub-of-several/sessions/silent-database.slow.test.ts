import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort } from '../../../support/free-port.ts'
import { postgresPrograms, startPostgres } from '../../../support/postgres.ts'
import type { Postgres } from '../../../support/postgres.ts'
import { TcpLink } from '../../../support/tcp-link.ts'
import { ALPHA, openHub, visit } from './hub.ts'
import type { Replica } from './hub.ts'

// Each test starts several servers, and a database that is silent is waited for.
vi.setConfig({ testTimeout: 60_000 })

const programs = await postgresPrograms()

describe.skipIf(programs === undefined)('a hub whose database takes connections and answers nothing', () => {
  let server: Postgres
  let port: number
  beforeAll(async () => {
    port = await freePort()
    server = await startPostgres(programs ?? '', { port })
  }, 120_000)
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  }, 120_000)

  test('a session of another process is served at once, and what it subscribes to is stored later', async () => {
    await using hub = await openHub(server)
    await using link = await TcpLink.to(port)
    const [one, other] = [await hub.start(), await hub.start(link)]
    await using client = await visit(one)
    expect((await listAt(other, client.session)).status).toBe(200)
    await pause(FRESH_MS)

    link.become('silent')
    const refreshed = other.log.refresh()
    const reads: Answer[] = []
    for (let requests = 0; requests < 10; requests += 1) reads.push(await listAt(other, client.session))
    const subscribed = await askAt(other, 'resources/subscribe', { uri: ALPHA }, client.session)
    const next = await askAt(other, 'resources/subscribe', { uri: ALPHA }, client.session)
    link.become('passes')
    await refreshed
    await other.log.refresh()

    expect(reads.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(together(reads)).toBeLessThan(TEN_AT_ONCE_MS)
    expect([subscribed.status, next.status]).toEqual([200, 200])
    expect(subscribed.tookMs).toBeLessThan(PROMISED_MS)
    expect(next.tookMs).toBeLessThan(AT_ONCE_MS)
    expect(await hub.query('SELECT requested FROM skillsyncd.session_subscription')).toEqual([{ requested: ALPHA }])
  })

  test('a session that is not known is looked up for half a second once, and then not until the database answers', async () => {
    await using hub = await openHub(server)
    await using link = await TcpLink.to(port)
    const [one, other] = [await hub.start(), await hub.start(link)]
    await using client = await visit(one)

    link.become('silent')
    const first = await listAt(other, client.session)
    const rest: Answer[] = []
    for (let requests = 0; requests < 10; requests += 1) rest.push(await listAt(other, client.session))
    const stream = await fetch(other.url, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': client.session },
    })
    link.become('passes')

    expect(first).toMatchObject({ status: 503, retryAfter: '1' })
    expect(first.tookMs).toBeLessThan(PROMISED_MS)
    expect(rest.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 503))
    expect(together(rest)).toBeLessThan(TEN_AT_ONCE_MS)
    expect([stream.status, stream.headers.get('retry-after')]).toEqual([503, '1'])
    await expect.poll(async () => (await listAt(other, client.session)).status, { timeout: 20_000 }).toBe(200)
  })

  test('a new session lives in memory, and is known to the other processes afterwards', async () => {
    await using hub = await openHub(server)
    await using link = await TcpLink.to(port)
    const [one, other] = [await hub.start(), await hub.start(link)]

    link.become('silent')
    const opened = await askAt(other, 'initialize', INITIALIZE)
    const reads = [await listAt(other, opened.session), await listAt(other, opened.session)]
    const second = await askAt(other, 'initialize', INITIALIZE)
    const lookedUp = await listAt(other, 'A'.repeat(32))
    link.become('passes')
    await other.log.refresh()

    expect([opened.status, second.status]).toEqual([200, 200])
    expect(opened.tookMs).toBeLessThan(PROMISED_MS)
    expect(reads.map(({ status }) => status)).toEqual([200, 200])
    expect(together(reads)).toBeLessThan(AT_ONCE_MS)
    expect(second.tookMs).toBeLessThan(AT_ONCE_MS)
    expect(lookedUp.status).toBe(503)
    expect((await listAt(one, opened.session)).status).toBe(200)
    expect((await listAt(one, second.session)).status).toBe(200)
  })
})

/** A guest that was read so long ago is read again. */
const FRESH_MS = 1_100

/** An answer that waits for its write does so for a second: one in this time waited for none. */
const AT_ONCE_MS = 900

/** If each of ten waited for the database, it would be for half a second or more. */
const TEN_AT_ONCE_MS = 3_000

/** An answer that waits for a silent database does so for a second at most, and a statement for five. */
const PROMISED_MS = 2_500

const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

interface Answer {
  readonly status: number
  readonly tookMs: number
  readonly retryAfter: string | null
  readonly session: string
}

function together(answers: readonly Answer[]): number {
  return answers.reduce((sum, { tookMs }) => sum + tookMs, 0)
}

async function listAt(replica: Replica, session: string): Promise<Answer> {
  return askAt(replica, 'resources/list', {}, session)
}

async function askAt(replica: Replica, method: string, params: object, session?: string): Promise<Answer> {
  const startMs = performance.now()
  const response = await fetch(replica.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  await response.arrayBuffer()
  return {
    status: response.status,
    tookMs: performance.now() - startMs,
    retryAfter: response.headers.get('retry-after'),
    session: response.headers.get('mcp-session-id') ?? '',
  }
}
