import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import type { Serving } from '../../src/serve/mcp/core/methods.ts'
import type { Forms } from '../../src/serve/mcp/resources/forms.ts'
import { templateCompletion } from '../../src/serve/mcp/tools/completion.ts'
import type { SessionLog } from '../../src/serve/mcp/transports/session-store.ts'
import { serveStream } from '../../src/serve/mcp/transports/stdio/stdio.ts'
import type { Principal, Scope } from '../../src/serve/principal.ts'
import { Registry } from '../../src/serve/registry.ts'
import { serveHttp } from '../../src/serve/site/server.ts'
import type { HttpServer } from '../../src/serve/site/server.ts'
import type { Catalog } from '../../src/sync/catalog/catalog.ts'
import { formsOf } from '../support/clients/forms.ts'
import { META, hear, legacyHttp, modernHttp } from '../support/clients/peer.ts'
import type { Peer, Reply } from '../support/clients/peer.ts'
import { catalogOfWorld, readWorld } from '../support/content/contract-world.ts'
import type { World } from '../support/content/contract-world.ts'
import { KINDS } from './peers.ts'
import type { Kind, Peers } from './peers.ts'

/** A world that is served as it stands, by HTTP and over streams, and asked by one client of each kind. */
export interface Contracted extends Peers {
  readonly url: string
  readonly http: HttpServer
  publish(world: World): Catalog
}

export interface ContractedOptions {
  readonly forms?: Forms
  readonly sessionLog?: SessionLog
  /** Served from the beginning, in place of what the world makes. */
  readonly catalog?: Catalog
}

export async function openContracted(world: World, options: ContractedOptions = {}): Promise<Contracted> {
  const { forms = formsOf(), catalog = catalogOfWorld(world), sessionLog } = options
  const registry = new Registry()
  registry.publish(catalog)
  const serving: Serving = {
    registry,
    read: readWorld,
    pages: { entries: 100, bytes: 100_000 },
    cache: { ttlMs: 0, cacheScope: 'public' },
    forms,
    surfaces: [templateCompletion(registry, forms)],
  }
  const http = await serveHttp(serving, {
    host: '127.0.0.1',
    port: 0,
    limits: LIMITS,
    now: () => 0,
    access: { isTokenRequired: false, authenticate: async (token) => principalOf(token) },
    onError: (error) => {
      throw error
    },
    ...(sessionLog !== undefined && { sessionLog }),
  })
  const url = `${http.url}/mcp`
  const all = await Promise.all(KINDS.map((kind) => openPeer(kind, url, serving)))
  return {
    all,
    of: (kind) => all.find((peer) => peer.kind === kind)!,
    url,
    http,
    publish(next) {
      const published = catalogOfWorld(next)
      registry.publish(published)
      return published
    },
    async [Symbol.asyncDispose]() {
      for (const peer of all) await peer[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** A token that opens what it says: `skills`, `skills+contract`. All of them are one principal's. */
export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

function principalOf(token: string): Principal {
  const scopes = ['skills', 'contract', 'tools'] as const satisfies readonly Scope[]
  return { id: 'ada', scopes: new Set(scopes.filter((scope) => token.split('+').includes(scope))) }
}

const LIMITS = {
  bodyBytes: 2 ** 20,
  streams: 100,
  keepAliveMs: 60_000,
  sessions: { sessions: 100, idleMs: 60_000 },
  headersMs: 10_000,
  requestMs: 30_000,
  connections: 100,
} as const

async function openPeer(kind: Kind, url: string, serving: Serving): Promise<Peer> {
  switch (kind) {
    case 'M':
      return modernHttp(url)
    case 'LH':
      return legacyHttp(url)
    case 'LS':
    case 'MS':
      return overStreams(kind, serving)
  }
}

let lastId = 0

/** A client over a pair of streams. Its first message decides the era. */
async function overStreams(kind: 'LS' | 'MS', serving: Serving): Promise<Peer> {
  const era = kind === 'MS' ? 'modern' : 'legacy'
  const [input, output, stop] = [new PassThrough(), new PassThrough({ highWaterMark: 2 ** 24 }), new AbortController()]
  const served = serveStream(serving, { input, output }, stop.signal)
  const heard = hear(messagesOf(output), async () => {})
  const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const call = async (method: string, params: any = {}): Promise<Reply> => {
    const id = `call ${(lastId += 1)}`
    send({ id, method, params: era === 'modern' ? { ...params, _meta: META } : params })
    return { ...(await heard.next((message) => message.id === id)), status: 200, headers: new Headers() }
  }
  const opening = era === 'modern' ? await call('server/discover') : await call('initialize', INITIALIZE)
  if (era === 'legacy') send({ method: 'notifications/initialized' })
  return {
    kind,
    era,
    call,
    opening,
    async subscribe(uris, { list = false } = {}) {
      if (era === 'legacy') for (const uri of uris) await call('resources/subscribe', { uri })
      else {
        const id = `listen ${(lastId += 1)}`
        const notifications = { resourceSubscriptions: uris, ...(list && { resourcesListChanged: true }) }
        send({ id, method: 'subscriptions/listen', params: { notifications, _meta: META } })
        await heard.next(({ params }) => params?._meta?.['io.modelcontextprotocol/subscriptionId'] === id)
      }
      return heard
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await served
    },
  }
}

async function* messagesOf(output: PassThrough): AsyncGenerator<any> {
  for await (const line of createInterface({ input: output })) yield JSON.parse(line)
}

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
