import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { Client as DatabaseClient } from 'pg'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { SerialQueue } from '../../../../src/base/async/serial-queue.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { SharedSessionLog } from '../../../../src/features/hub-of-several/sessions/shared-session-log.ts'
import type { AccessRules } from '../../../../src/serve/http/http-access.ts'
import { skillTools } from '../../../../src/serve/mcp/tools/tools.ts'
import { SCOPES } from '../../../../src/serve/principal.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { serveHttp } from '../../../../src/serve/site/server.ts'
import type { HttpServer } from '../../../../src/serve/site/server.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { GenerationStore } from '../../../../src/sync/store/generation-store.ts'
import { SnapshotStore } from '../../../../src/sync/store/snapshot-store.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import type { Postgres } from '../../../support/postgres.ts'
import type { TcpLink } from '../../../support/tcp-link.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

export const ALPHA = 'skill://team/one/alpha.md'
export const BETA = 'skill://team/one/beta.md'
/** A file that is changed when a test wants to know that nothing else was announced before. */
export const MARKER = 'skill://team/one/marker.md'

/** One process of a hub: an HTTP server with a store of its own, and the sessions in the shared database. */
export interface Replica extends AsyncDisposable {
  readonly http: HttpServer
  readonly url: string
  readonly registry: Registry
  readonly log: SharedSessionLog
  readonly shared: SharedStore
  readonly logged: () => string
  /** Ends it as a kill would: nothing of it reaches the database any more. */
  kill(): Promise<void>
  /** Reads no news until this resolves. */
  stall(until: Promise<void>): void
  /** Serves a catalog, as the loop of the hub does. */
  serve(catalog: Catalog): Promise<void>
}

/** Several processes over one database. The files of one skill are published as generation after generation. */
export interface Hub extends AsyncDisposable {
  readonly databaseUrl: string
  /** `link`: its way to the database. */
  start(link?: TcpLink): Promise<Replica>
  /** Publishes a change of these files, and has it served by every process that lives, or by those named. */
  change(uris: readonly string[], by?: readonly Replica[]): Promise<Catalog>
  /** Runs one statement as another client of the database. */
  query(text: string): Promise<readonly Record<string, unknown>[]>
  /** Refuses all connections to the database from now on, and ends those that are open. */
  takeDatabaseAway(): Promise<void>
  bringDatabaseBack(): Promise<void>
}

export interface HubOptions {
  /** How long an owner has to hand a session over. Long where it lives: a busy machine may take seconds for that. */
  readonly handoverMs?: number
  readonly idleMs?: number
  readonly access?: AccessRules
  readonly sessions?: number
}

/** A bearer token is the name of its principal. */
const ACCESS: AccessRules = {
  isTokenRequired: false,
  authenticate: async (token) => ({ id: token, scopes: new Set(SCOPES) }),
}

export async function openHub(server: Postgres, options: HubOptions = {}): Promise<Hub> {
  await using opened = new AsyncDisposableStack()
  const databaseUrl = await server.createDatabase()
  const publisher = opened.use(SharedStore.at({ url: databaseUrl, connections: 2 }))
  const publishing = await publisher.open()
  await publisher.leadership.take()
  const folder = opened.use(await temporaryFolder())
  const state = opened.use(await Store.open(join(folder.path, 'publisher')))
  const snapshots = new SnapshotStore(publishing)
  const generations = new GenerationStore(state.folder, publishing, snapshots)
  const versions = new Map([ALPHA, BETA, MARKER].map((uri) => [uri, 0]))
  const replicas = new Set<Replica>()
  let current = await publish()

  async function publish(): Promise<Catalog> {
    const texts = [...versions].map(([uri, version]) => [uri.split('/').at(-1) ?? '', `version ${version}\n`])
    const source = sourceId('team')
    const snapshot = { ...snapshotOf(sample('one', { 'SKILL.md': 'one\n', ...Object.fromEntries(texts) })), source }
    const held = { source, snapshot: await snapshots.keep(snapshot) }
    return buildCatalog(await generations.publish([held], new Date()), [snapshot])
  }

  const admin = async (text: string): Promise<readonly Record<string, unknown>[]> => {
    const client = new DatabaseClient({ connectionString: databaseUrl.replace(/\/[^/?]+\?/, '/postgres?') })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  const name = /\/([^/?]+)\?/.exec(databaseUrl)?.[1] ?? ''
  const held = opened.move()
  return {
    databaseUrl,
    async start(link) {
      const url = link === undefined ? databaseUrl : databaseUrl.replace(/(?<=:)\d+(?=\/)/, `${link.port}`)
      const replica = await startReplica(url, join(folder.path, `${replicas.size}`), current, options)
      replicas.add(replica)
      held.use(replica)
      return { ...replica, kill: async () => (replicas.delete(replica), replica.kill()) }
    },
    async change(uris, by = [...replicas]) {
      for (const uri of uris) versions.set(uri, (versions.get(uri) ?? 0) + 1)
      current = await publish()
      for (const replica of by) await replica.serve(current)
      return current
    },
    async query(text) {
      const client = new DatabaseClient({ connectionString: databaseUrl })
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    },
    async takeDatabaseAway() {
      await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      await admin(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`)
    },
    async bringDatabaseBack() {
      await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    },
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  }
}

async function startReplica(
  url: string,
  path: string,
  catalog: Catalog,
  { handoverMs = 30_000, idleMs = 60_000, access = ACCESS, sessions = 100 }: HubOptions,
): Promise<Replica> {
  await using opened = new AsyncDisposableStack()
  const store = opened.use(await Store.open(path))
  const shared = SharedStore.at({ url, times: { connectMs: 2_000, statementMs: 5_000 } })
  let isClosed = false
  const close = async (): Promise<void> => {
    if (!isClosed) {
      isClosed = true
      await shared[Symbol.asyncDispose]()
    }
  }
  opened.defer(close)
  let logged = ''
  const stream = { write: (text: string) => (logged += text) }
  const clock = systemClock
  const log = createLog({ level: 'debug', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  const sessionLog = opened.use(new SharedSessionLog({ store, shared, clock, log, handoverMs }))
  const registry = new Registry()
  registry.publish(catalog)
  await shared.open()
  let running = Promise.resolve()
  const refresh = async (): Promise<void> => {
    await running
    await sessionLog.refresh()
  }
  opened.use(
    await shared.database.listen(
      () => void refresh(),
      () => {},
    ),
  )
  const reading = { registry, read: async () => undefined, pages: { entries: 100, bytes: 2 ** 20 } }
  const http = opened.use(
    await serveHttp(
      {
        ...reading,
        forms: formsOf(),
        cache: { ttlMs: 0, cacheScope: 'public' },
        surfaces: [skillTools(reading, { look: async () => 0 })],
      },
      {
        host: '127.0.0.1',
        port: 0,
        limits: {
          headersMs: 10_000,
          requestMs: 30_000,
          connections: 1_000,
          bodyBytes: 2 ** 20,
          streams: 100,
          keepAliveMs: 15_000,
          sessions: { sessions, idleMs },
        },
        now: () => performance.now(),
        access,
        sessionLog,
        onError: (error) => {
          throw error
        },
      },
    ),
  )
  await sessionLog.refresh()
  // A daemon does so each second: an announcement alone may come while rows are read.
  const refreshing = setInterval(() => void refresh(), 200)
  opened.defer(() => clearInterval(refreshing))
  const held = opened.move()
  return {
    http,
    url: `${http.url}/mcp`,
    registry,
    log: sessionLog,
    shared,
    logged: () => logged,
    async kill() {
      await close()
      await http[Symbol.asyncDispose]()
    },
    stall(until) {
      running = until
    },
    async serve(next) {
      await refresh()
      registry.publish(next)
    },
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  }
}

/** An SDK client of the 2025 era behind a proxy without sticky sessions. */
export interface Visitor extends AsyncDisposable {
  readonly session: string
  /** Sends each request but that for the stream to these replicas in turn. */
  ask(...replicas: readonly Replica[]): void
  /** Opens the stream at this replica from now on; resolves when it is open. */
  listen(replica: Replica): Promise<void>
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
  list(): Promise<number>
  /** Everything that was announced before the next announcement of the marker. */
  toldBefore(uri: string): Promise<string[]>
  end(): Promise<void>
  /** The statuses of the answers so far. */
  readonly statuses: readonly number[]
}

export async function visit(replica: Replica, token?: string): Promise<Visitor> {
  let asked: readonly Replica[] = [replica]
  let turn = 0
  let at = replica
  let streams = 0
  let opened = Promise.withResolvers<void>()
  const statuses: number[] = []
  const told: string[] = []
  let arrived = Promise.withResolvers<void>()
  const hear = (uri: string): void => {
    told.push(uri)
    arrived.resolve()
    arrived = Promise.withResolvers<void>()
  }
  /** The replica of each stream that is open. */
  const listening = new Set<{ readonly at: Replica }>()
  /**
   * Opens a stream, unless one is open there. The SDK keeps asking for each stream that it ever had, and two that ask in
   * turn replace each other: what one has read is sent once more to the other.
   */
  const openStream = async (init: RequestInit): Promise<Response> => {
    if ([...listening].some((open) => open.at === at)) return new Response(null, { status: 405 })
    const stream = { at }
    const response = await fetch(at.url, init)
    statuses.push(response.status)
    if (!response.ok || response.body === null) return response
    listening.add(stream)
    streams += 1
    opened.resolve()
    opened = Promise.withResolvers<void>()
    const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>()
    void response.body
      .pipeTo(writable)
      .catch(() => {})
      .finally(() => listening.delete(stream))
    return new Response(readable, response)
  }
  const opening = new SerialQueue()
  const hasOpenedSince = (before: number) => () => streams > before
  const transport = new StreamableHTTPClientTransport(new URL(replica.url), {
    fetch: async (_, init = {}) => {
      if (init.method === 'GET') return opening.next(async () => openStream(init))
      const target = asked[turn % asked.length] ?? replica
      turn += 1
      const response = await fetch(target.url, init)
      statuses.push(response.status)
      return response
    },
    reconnectionOptions: {
      initialReconnectionDelay: 20,
      maxReconnectionDelay: 100,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 1_000,
    },
    ...(token !== undefined && { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  })
  const client = new Client({ name: 'test', version: '1' })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => hear(params.uri))
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => hear('list_changed'))
  const { promise: first } = opened
  await client.connect(transport)
  await first
  return {
    session: transport.sessionId ?? '',
    statuses,
    ask(...replicas) {
      asked = replicas
    },
    async listen(next) {
      at = next
      const isOpen = hasOpenedSince(streams)
      // The stream that is open ends: its replica is gone, or another request of the client takes the session over. A
      // replica that could not take it in time says so, and is asked again.
      while (!isOpen()) {
        await transport.resumeStream('').catch(() => {})
        if (!isOpen()) await Promise.race([opened.promise, pause(20)])
      }
    },
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    unsubscribe: async (uri) => void (await client.unsubscribeResource({ uri })),
    list: async () => (await client.listResources()).resources.length,
    async toldBefore(uri) {
      while (!told.includes(uri)) await arrived.promise
      const all = told.splice(0, told.indexOf(uri) + 1)
      return all.slice(0, -1).toSorted()
    },
    end: async () => transport.terminateSession(),
    [Symbol.asyncDispose]: async () => client.close(),
  }
}
