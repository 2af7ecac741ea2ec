import { expect, test, vi } from 'vitest'
import { SCHEMAS, schemaOf } from '../../../conformance/published-schemas.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { ALPHA, BETA, MARKER, openHub, visit } from './hub.ts'
import type { Hub, Replica } from './hub.ts'

// Each test starts several servers, and some wait for an owner that does not answer.
vi.setConfig({ testTimeout: 60_000 })

describePostgres('sessions of a hub of several processes', (server) => {
  test('the requests of a client alternate between two processes, and each change is announced once, on its stream', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    client.ask(one, other)

    for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)
    for (let requests = 0; requests < 4; requests += 1) expect(await client.list()).toBeGreaterThan(0)
    await client.unsubscribe(BETA)
    await client.unsubscribe(BETA)
    await hub.change([ALPHA, BETA])
    await hub.change([MARKER])

    expect(await client.toldBefore(MARKER)).toEqual([ALPHA])
    expect(client.statuses.every((status) => status < 300)).toBe(true)
    expect([one, other].map(({ http }) => http.counts())).toMatchObject([
      { sessions: 1, streams: 1 },
      { sessions: 0, streams: 0 },
    ])
  })

  test.each(['is killed', 'ends'] as const)(
    'when a process %s, its client goes on at another one: it hears once of what it missed, and of nothing else',
    async (kind) => {
      await using hub = await openHub(server, { handoverMs: 1_000 })
      const [one, other] = [await hub.start(), await hub.start()]
      await using client = await visit(one)
      for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)
      await hub.change([BETA])
      await hub.change([MARKER])
      expect(await client.toldBefore(MARKER)).toEqual([BETA])

      client.ask(other)
      await (kind === 'ends' ? one[Symbol.asyncDispose]() : one.kill())
      await hub.change([ALPHA], [other])
      await client.listen(other)
      await hub.change([MARKER], [other])

      expect(await client.toldBefore(MARKER)).toEqual([ALPHA])
      expect(other.http.counts()).toMatchObject({ sessions: 1, streams: 1, subscribedUris: 3 })
    },
  )

  test('a client that opens its stream at another process loses the one that it has, and hears of each change once', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)

    await hub.change([ALPHA])
    await client.listen(other)
    await hub.change([BETA])
    await hub.change([MARKER])
    expect(await client.toldBefore(MARKER)).toEqual([ALPHA, BETA])
    await client.listen(one)
    await hub.change([BETA])
    await hub.change([MARKER])

    expect(await client.toldBefore(MARKER)).toEqual([BETA])
    // The stream at the other process ends there a moment after it is replaced here.
    await expect
      .poll(() => [one, other].map(({ http }) => http.counts()))
      .toMatchObject([
        { sessions: 1, streams: 1 },
        { sessions: 0, streams: 0, subscribedUris: 0 },
      ])
  })

  test('a session of an older revision has the forms of that revision at each process, without a header that names it', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    for (const revision of ['2024-10-07', ...SCHEMAS.slice(0, -1)]) {
      const opening = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const opened = await post(one, { method: 'initialize', params: opening })
      const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
      const list = async (replica: Replica): Promise<any> =>
        (await post(replica, { method: 'tools/list' }, headers)).json()

      const [atOwner, atGuest] = [await list(one), await list(other)]
      await streamAt(other, headers['mcp-session-id'])
      const afterMove = [await list(other), await list(one)]

      expect(schemaOf(revision)('ListToolsResult', atOwner.result), revision).toEqual([])
      expect([atGuest, ...afterMove], revision).toEqual([atOwner, atOwner, atOwner])
    }
  })

  test('a session that ends at one process has ended at all of them', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    await client.subscribe(ALPHA)

    client.ask(other)
    await client.end()
    await one.log.refresh()

    expect([await statusAt(one, client.session), await statusAt(other, client.session)]).toEqual([404, 404])
    expect(one.http.counts()).toMatchObject({ sessions: 0, subscribedUris: 0 })
    expect(await hub.query('SELECT key FROM skillsyncd.session')).toEqual([])
    expect(await hub.query('SELECT key FROM skillsyncd.session_subscription')).toEqual([])
  })

  test('a session that ended at its owner is unknown at the others after a second', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    expect(await statusAt(other, client.session)).toBe(200)

    await client.end()

    await expect.poll(async () => statusAt(other, client.session), { timeout: 10_000 }).toBe(404)
  })

  test('for another principal the session of a client does not exist at any process, and cannot be moved', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one, 'ada')
    const eve = { authorization: 'Bearer eve' }

    const stream = await streamAt(other, client.session, eve)

    expect(stream.status).toBe(404)
    expect(await statusAt(other, client.session, eve)).toBe(404)
    expect(await statusAt(other, client.session)).toBe(404)
    expect(await statusAt(other, client.session, { authorization: 'Bearer ada' })).toBe(200)
    expect(one.http.counts()).toMatchObject({ sessions: 1, streams: 1 })
  })

  test('an owner that does not answer is overruled, and its stream says nothing more once it does', async () => {
    await using hub = await openHub(server, { handoverMs: 1_000 })
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    for (const uri of [ALPHA, MARKER]) await client.subscribe(uri)
    const stalled = Promise.withResolvers<void>()
    one.stall(stalled.promise)

    await client.listen(other)
    await hub.change([ALPHA], [other])
    stalled.resolve()
    await hub.change([MARKER])

    expect(await client.toldBefore(MARKER)).toEqual([ALPHA])
    expect(one.http.counts()).toMatchObject({ sessions: 0, streams: 0 })
  })

  test('a process whose catalog is older than what a client was notified of waits until it serves that', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)
    const first = await hub.change([BETA], [one])
    const second = await hub.change([MARKER], [one])
    expect(await client.toldBefore(MARKER)).toEqual([BETA])

    await client.listen(other)
    await other.serve(first)
    await other.serve(second)
    await hub.change([ALPHA], [other])
    await hub.change([MARKER], [other])

    expect(await client.toldBefore(MARKER)).toEqual([ALPHA])
  })

  test('a subscription made where the catalog is older is announced by an owner whose catalog is newer', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    await client.subscribe(MARKER)
    await hub.change([ALPHA], [one])

    client.ask(other)
    await client.subscribe(ALPHA)
    await hub.change([MARKER])

    expect(await client.toldBefore(MARKER)).toEqual([ALPHA])
  })

  test('while the database is away sessions are served on, and what was done meanwhile is written when it is back', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    await client.subscribe(BETA)
    client.ask(one, other)
    await client.list()
    await client.list()

    await hub.takeDatabaseAway()
    await using opened = await visit(one)
    await opened.subscribe(ALPHA)
    await client.list()
    await client.list()
    await client.subscribe(MARKER)
    const unknown = await statusAt(other, opened.session)
    await hub.bringDatabaseBack()
    await one.log.refresh()
    await other.log.refresh()

    expect(unknown).toBe(503)
    expect(await statusAt(other, opened.session)).toBe(200)
    expect(await hub.query('SELECT requested FROM skillsyncd.session_subscription ORDER BY requested')).toEqual(
      [ALPHA, BETA, MARKER].map((requested) => ({ requested })),
    )
    expect(one.logged().match(/"sessions-not-kept"/g)).toHaveLength(2)
    expect(one.logged()).toMatch(/"recovered".*"sessions-not-kept"/)
  })

  test('a process that others took for dead reads what they did with its sessions, as soon as it goes on', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    await using moved = await visit(one)
    for (const uri of [ALPHA, MARKER]) await client.subscribe(uri)
    const { promise, resolve } = Promise.withResolvers<void>()
    one.stall(promise)
    await hub.query("UPDATE skillsyncd.session_replica SET seen = seen - interval '1 minute'")

    client.ask(other)
    await client.subscribe(BETA)
    await client.unsubscribe(ALPHA)
    await moved.listen(other)
    const news = await hub.query('SELECT key FROM skillsyncd.session_news WHERE requested IS NOT NULL')
    resolve()
    await hub.change([ALPHA, BETA])
    await hub.change([MARKER])

    expect(news).toEqual([])
    expect(await client.toldBefore(MARKER)).toEqual([BETA])
    expect(one.http.counts()).toMatchObject({ sessions: 1, streams: 1, subscribedUris: 2 })
  })

  test('a session that no catalog is known of any more hears of each of its URIs once, and of the list', async () => {
    await using hub = await openHub(server, { handoverMs: 1_000 })
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    for (const uri of [ALPHA, BETA, MARKER]) await client.subscribe(uri)

    client.ask(other)
    await one.kill()
    await hub.change([ALPHA], [other])
    await hub.query('DELETE FROM skillsyncd.head WHERE sequence < (SELECT max(sequence) FROM skillsyncd.head)')
    await client.listen(other)
    const told = await client.toldBefore(MARKER)
    await hub.change([MARKER], [other])
    told.push(...(await client.toldBefore(MARKER)))

    expect(new Set(told)).toEqual(new Set([ALPHA, BETA, 'list_changed']))
    expect(told).toHaveLength(3)
  })

  test('a session whose requests all go to another process does not idle at its owner', async () => {
    await using hub = await openHub(server, { idleMs: 60_000 })
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    await hub.query("UPDATE skillsyncd.session SET used = used - interval '50 seconds'")

    expect(await statusAt(other, client.session)).toBe(200)
    await other.log.refresh()
    await one.log.refresh()

    const [row] = await hub.query(
      "SELECT used > clock_timestamp() - interval '20 seconds' AS fresh FROM skillsyncd.session",
    )
    expect(row).toEqual({ fresh: true })
  })

  test('a process whose sessions are all in use takes none over, and the owner goes on', async () => {
    await using hub = await openHub(server, { sessions: 1 })
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one, 'ada')
    await using own = await visit(other, 'ada')
    await client.subscribe(MARKER)

    const stream = await streamAt(other, client.session, { authorization: 'Bearer ada' })
    await hub.change([MARKER])

    expect([stream.status, stream.headers.get('retry-after')]).toEqual([503, '30'])
    expect(await client.toldBefore(MARKER)).toEqual([])
    expect(own.statuses.every((status) => status < 300)).toBe(true)
  })

  test('a request that gets no stream does not move the session', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)

    const refused = await streamAt(other, client.session, { accept: 'application/json' })

    expect(refused.status).toBe(406)
    expect(one.http.counts()).toMatchObject({ sessions: 1, streams: 1 })
    expect(other.http.counts()).toMatchObject({ sessions: 0 })
  })

  test('an id that no process gave out is unknown, also while the database is away if it has another form', async () => {
    await using hub = await openHub(server)
    const one = await hub.start()
    const [unknown, misshapen] = ['x'.repeat(32), 'x'.repeat(33)]

    expect([await statusAt(one, unknown), await statusAt(one, misshapen)]).toEqual([404, 404])
    expect((await streamAt(one, unknown)).status).toBe(404)
    await hub.takeDatabaseAway()
    expect([await statusAt(one, unknown), await statusAt(one, misshapen)]).toEqual([503, 404])
    await hub.bringDatabaseBack()
    await expect.poll(async () => statusAt(one, unknown), { timeout: 10_000 }).toBe(404)
  })

  test('a subscription for which the owner has no room ends the session, which its client learns', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    const rows = `SELECT key, sha256(n::text::bytea), 'skill://team/' || n, 'skill://team/' || n`
    client.ask(other)
    await client.list()
    await hub.query(`INSERT INTO skillsyncd.session_subscription ${rows}
      FROM skillsyncd.session, generate_series(1, 10001) AS n`)

    await hub.query(`INSERT INTO skillsyncd.session_news (replica, key, requested, canonical)
      SELECT replica, session.key, requested, canonical FROM skillsyncd.session JOIN skillsyncd.session_subscription USING (key)`)
    await one.log.refresh()
    await one.log.refresh()

    expect(await statusAt(one, client.session)).toBe(404)
    expect(one.http.counts()).toMatchObject({ sessions: 0, subscribedUris: 0 })
    expect(await hub.query('SELECT key FROM skillsyncd.session')).toEqual([])
  })

  test('sessions that idle for too long are removed at whichever process they were opened', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using client = await visit(one)
    await client.subscribe(ALPHA)
    await one.kill()
    await hub.query("UPDATE skillsyncd.session SET used = used - interval '1 hour'")

    const status = await statusAt(other, client.session)
    await other.log.removeIdle({ sessions: 100, idleMs: 60_000 })

    expect(status).toBe(404)
    expect(await hub.query('SELECT key FROM skillsyncd.session')).toEqual([])
  })

  test('of the sessions of dead processes as many stay as one process may have, and all of those that live', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using old = await visit(one)
    await using young = await visit(one)
    await using alive = await visit(other)
    await one.kill()
    await hub.query("UPDATE skillsyncd.session_replica SET seen = seen - interval '1 minute'")
    await other.log.refresh()

    expect(await statusAt(other, young.session)).toBe(200)
    await other.log.removeIdle({ sessions: 1, idleMs: 60_000 })
    const kept = (await hub.query('SELECT key FROM skillsyncd.session')).length
    await other.log.removeIdle({ sessions: 0, idleMs: 60_000 })

    expect(kept).toBe(2)
    expect(await hub.query('SELECT replica FROM skillsyncd.session')).toEqual([{ replica: other.shared.id }])
    expect(await statusAt(other, alive.session)).toBe(200)
    expect(old.session).not.toBe(young.session)
  })

  test('a session that is taken from a dead process while others of it are removed stays', async () => {
    await using hub = await openHub(server)
    const [one, other] = [await hub.start(), await hub.start()]
    await using taken = await visit(one)
    await using left = await visit(one)
    await one.kill()
    await hub.query("UPDATE skillsyncd.session_replica SET seen = seen - interval '1 minute'")
    await other.log.refresh()
    const [{ key } = {}] = await hub.query('SELECT key FROM skillsyncd.session LIMIT 1')
    const [isTaken, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

    const taking = other.shared.database.transact('take over a session', async (client) => {
      await client.query('UPDATE skillsyncd.session SET replica = $1 WHERE key = $2', [other.shared.id, key])
      isTaken.resolve()
      await goOn.promise
    })
    await isTaken.promise
    const removed = new AbortController()
    const removing = other.log.removeIdle({ sessions: 0, idleMs: 60_000 }).finally(() => removed.abort())
    await isLocked(hub, removed.signal)
    goOn.resolve()
    await Promise.all([taking, removing])

    expect(await hub.query('SELECT key FROM skillsyncd.session')).toEqual([{ key }])
    expect(taken.session).not.toBe(left.session)
  })
})

/** Resolves when a statement waits for the lock of a row, or when the work that could is over. */
async function isLocked(hub: Hub, over: AbortSignal): Promise<void> {
  const text = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  while (!over.aborted && (await hub.query(text)).length === 0);
}

async function streamAt(
  replica: Replica,
  session: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const response = await fetch(replica.url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...headers },
  })
  await response.body?.cancel()
  return response
}

async function statusAt(replica: Replica, session: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await post(replica, { method: 'resources/list' }, { 'mcp-session-id': session, ...headers })
  await response.arrayBuffer()
  return response.status
}

async function post(
  replica: Replica,
  { method, params = {} }: { readonly method: string; readonly params?: object },
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(replica.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}
