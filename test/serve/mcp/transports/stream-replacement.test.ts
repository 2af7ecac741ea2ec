import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OPEN_TO_ALL } from '../../../../src/serve/http/http-access.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { serveHttp } from '../../../../src/serve/site/server.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { eventsOf, hear } from '../../../support/clients/peer.ts'
import type { Heard } from '../../../support/clients/peer.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import { portOf } from '../../../sync/upstream/front.ts'

const FILES = ['a.md', 'b.md', 'marker.md']
const URIS = FILES.map((file) => `skill://team/one/${file}`)

/**
 * What the client has of its stream. `half-open`: a hop has cut the client off, and keeps its connection to the server;
 * what is sent into it reaches nobody.
 */
interface Model {
  stream: 'none' | 'live' | 'half-open'
  /** The changes that the client has not been told of. */
  readonly missed: Set<string>
  expected: string[]
}

/** The session and its streams, on a real connection each. */
interface Real {
  /** `change`: what the client makes of the id of its last event. */
  readonly open: (change?: (id: string) => string) => Promise<void>
  readonly cut: (side: 'client' | 'server' | 'both') => Promise<void>
  readonly publish: (file: number) => void
  readonly streams: () => number
  heard: Heard | undefined
}

type Command = fc.AsyncCommand<Model, Real>

class Opens implements Command {
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    model.expected = [...model.missed]
    model.missed.clear()
    model.stream = 'live'
    await real.open()
    await expectHeard(model, real)
    expect(real.streams()).toBe(1)
  }
  toString = () => 'a stream is opened'
}

class Cuts implements Command {
  readonly #side: 'client' | 'server' | 'both'
  constructor(side: 'client' | 'server' | 'both') {
    this.#side = side
  }
  check = ({ stream }: Readonly<Model>) => stream === 'live' || (stream === 'half-open' && this.#side !== 'client')
  async run(model: Model, real: Real): Promise<void> {
    model.stream = this.#side === 'client' ? 'half-open' : 'none'
    await real.cut(this.#side)
  }
  toString = () => `the connection is cut at: ${this.#side}`
}

class Publishes implements Command {
  readonly #file: number
  constructor(file: number) {
    this.#file = file
  }
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    real.publish(this.#file)
    if (model.stream !== 'live') return void model.missed.add(URIS[this.#file]!)
    model.expected.push(URIS[this.#file]!)
    await expectHeard(model, real)
  }
  toString = () => `${FILES[this.#file]} changes`
}

/** The order of what was missed is of no interest. */
async function expectHeard({ expected }: Model, { heard }: Real): Promise<void> {
  if (expected.length > 0) await heard!.next(() => heard!.messages.length >= expected.length)
  const told: string[] = heard!.messages.map(({ params }) => params.uri)
  expect(told.toSorted()).toEqual(expected.toSorted())
}

test('however its streams end or are replaced, a session is told of each change, once', async () => {
  const commands = [
    fc.constant(new Opens()),
    fc.constantFrom('client', 'server', 'both').map((side) => new Cuts(side)),
    fc.nat(1).map((file) => new Publishes(file)),
  ]

  const holds = fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 12 }), async (drawn) => {
      await using scene = await openScene()
      const model: Model = { stream: 'none', missed: new Set(), expected: [] }
      // A client that has had no event has none to name.
      const [before, after] = [
        [new Opens(), new Publishes(2)],
        [new Opens(), new Publishes(0), new Publishes(2)],
      ]
      await fc.asyncModelRun(() => ({ model, real: scene }), [...before, ...drawn, ...after])
    }),
    { numRuns: lawRuns(400, 0.1) },
  )

  await expect(holds).resolves.toBeUndefined()
})

test.each([
  ['of an earlier process stands before all', () => '0123456789ab-7', URIS.slice(0, 1)],
  ['that is no number stands before all', (id: string) => id.replace(/\d+$/, 'x'), URIS.slice(0, 1)],
  ['that was not sent yet stands after all', (id: string) => id.replace(/\d+$/, '99'), []],
])('an event %s', async (_, change, told) => {
  await using scene = await openScene()
  await scene.open()
  scene.publish(0)
  await scene.heard!.next(() => true)

  await scene.open(change)
  scene.publish(1)

  await scene.heard!.next(({ params }) => params.uri === URIS[1])
  expect(scene.heard!.messages.map(({ params }) => params.uri)).toEqual([...told, URIS[1]])
})

async function openScene(): Promise<Real & AsyncDisposable> {
  const registry = new Registry()
  const versions = [0, 0, 0]
  registry.publish(catalogOf(versions, 1))
  const http = await serveHttp(
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
      limits: {
        headersMs: 10_000,
        requestMs: 30_000,
        connections: 100,
        bodyBytes: 2 ** 20,
        streams: 2,
        keepAliveMs: 15_000,
        sessions: { sessions: 10, idleMs: 60_000 },
      },
      now: () => performance.now(),
      access: OPEN_TO_ALL,
      onError: (error) => {
        throw error
      },
    },
  )
  const url = `${http.url}/mcp`
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  let session = ''
  const post = async (method: string, params: object): Promise<void> => {
    const of = session === '' ? headers : { ...headers, 'mcp-session-id': session }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers: of, body })
    session ||= response.headers.get('mcp-session-id') ?? ''
    await response.text()
  }
  await post('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  for (const uri of URIS) await post('resources/subscribe', { uri })
  const hops: Hop[] = []
  let lastEvent: string | undefined
  const real: Real & AsyncDisposable = {
    heard: undefined,
    streams: () => http.counts().streams,
    async open(change = (id) => id) {
      const hop = await Hop.to(Number(new URL(http.url).port))
      hops.push(hop)
      const named = lastEvent === undefined ? {} : { 'last-event-id': change(lastEvent) }
      const asked = { accept: 'text/event-stream', 'mcp-session-id': session, ...named }
      const response = await fetch(`http://127.0.0.1:${hop.port}/mcp`, { headers: asked })
      real.heard = hear(
        eventsOf(response, (id) => (lastEvent = id)),
        async () => {},
      )
    },
    async cut(side) {
      hops.at(-1)?.cut(side)
      if (side === 'client') return
      while (http.counts().streams > 0) await turn()
    },
    publish(file) {
      versions[file] = (versions[file] ?? 0) + 1
      registry.publish(catalogOf(versions, 1 + versions.reduce((sum, version) => sum + version, 0)))
    },
    async [Symbol.asyncDispose]() {
      for (const hop of hops) hop[Symbol.dispose]()
      await http[Symbol.asyncDispose]()
    },
  }
  return real
}

/** One connection on its way to a server, which can be cut on either side. */
class Hop implements Disposable {
  readonly #server: Server
  #toClient: Socket | undefined
  #toServer: Socket | undefined

  private constructor(server: Server, behind: number) {
    this.#server = server
    server.once('connection', (client) => {
      this.#toClient = client.on('error', () => {})
      this.#toServer = connect(behind, '127.0.0.1').on('error', () => {})
      client.pipe(this.#toServer, { end: false })
      this.#toServer.pipe(client, { end: false })
    })
  }

  static async to(behind: number): Promise<Hop> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Hop(server, behind)
  }

  get port(): number {
    return portOf(this.#server)
  }

  cut(side: 'client' | 'server' | 'both'): void {
    if (side !== 'server') this.#toClient?.destroy()
    // What is sent on to the client is read and lost.
    if (side === 'client') this.#toServer?.unpipe().resume()
    else this.#toServer?.destroy()
  }

  [Symbol.dispose](): void {
    this.cut('both')
    this.#server.close()
  }
}

function catalogOf(versions: readonly number[], number: number): Catalog {
  const files = Object.fromEntries(FILES.map((file, index) => [file, `version ${versions[index]}\n`]))
  const source = sourceId('team')
  const snapshot = { ...snapshotOf(sample('one', { 'SKILL.md': 'one\n', ...files })), source }
  return buildCatalog({ number, createdAt: '', sources: [{ source, snapshot: String(number) }] }, [snapshot])
}
