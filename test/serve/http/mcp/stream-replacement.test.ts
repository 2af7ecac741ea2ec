import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OPEN_TO_ALL } from '../../../../src/serve/http/access/access.ts'
import { serveHttp } from '../../../../src/serve/http/server.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { eventsOf, hear } from '../../../support/clients/peer.ts'
import type { Heard } from '../../../support/clients/peer.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

const FILES = ['a.md', 'b.md', 'marker.md']
const URIS = FILES.map((file) => `skill://team/one/${file}`)

/** What the client has of its stream. `dead`: a hop keeps the connection open at the server, and passes nothing on. */
interface Model {
  stream: 'none' | 'live' | 'dead'
  readonly missed: Set<string>
  expected: string[]
}

/** The session and its streams, on a real connection each. */
interface Real {
  readonly open: () => Promise<void>
  readonly cut: () => Promise<void>
  readonly publish: (file: number) => void
  readonly streams: () => number
  heard: Heard | undefined
}

type Command = fc.AsyncCommand<Model, Real>

class Opens implements Command {
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    model.expected = model.stream === 'none' ? [...model.missed] : []
    model.missed.clear()
    model.stream = 'live'
    await real.open()
    await expectHeard(model, real)
    expect(real.streams()).toBe(1)
  }
  toString = () => 'a stream is opened'
}

class Cuts implements Command {
  check = ({ stream }: Readonly<Model>) => stream !== 'none'
  async run(model: Model, real: Real): Promise<void> {
    model.stream = 'none'
    await real.cut()
  }
  toString = () => 'the client closes the connection'
}

class Dies implements Command {
  check = ({ stream }: Readonly<Model>) => stream === 'live'
  async run(model: Model): Promise<void> {
    model.stream = 'dead'
  }
  toString = () => 'the connection is half open'
}

class Publishes implements Command {
  readonly #file: number
  constructor(file: number) {
    this.#file = file
  }
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    real.publish(this.#file)
    if (model.stream === 'none') model.missed.add(URIS[this.#file]!)
    if (model.stream === 'live') model.expected.push(URIS[this.#file]!)
    if (model.stream === 'live') await expectHeard(model, real)
  }
  toString = () => `${FILES[this.#file]} changes`
}

async function expectHeard({ expected }: Model, { heard }: Real): Promise<void> {
  if (expected.length > 0) await heard!.next(() => heard!.messages.length >= expected.length)
  expect(heard!.messages.map(({ params }) => params.uri)).toEqual(expected)
}

test('however its streams end or are replaced, a session is told of each later change, once', async () => {
  const commands = [
    fc.constant(new Opens()),
    fc.constant(new Cuts()),
    fc.constant(new Dies()),
    fc.nat(1).map((file) => new Publishes(file)),
  ]

  const holds = fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 12 }), async (drawn) => {
      await using scene = await openScene()
      const model: Model = { stream: 'none', missed: new Set(), expected: [] }
      await fc.asyncModelRun(
        () => ({ model, real: scene }),
        [...drawn, new Opens(), new Publishes(0), new Publishes(2)],
      )
    }),
    { numRuns: lawRuns(400, 0.1) },
  )

  await expect(holds).resolves.toBeUndefined()
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
  const stops: AbortController[] = []
  const real: Real & AsyncDisposable = {
    heard: undefined,
    streams: () => http.counts().streams,
    async open() {
      const stop = new AbortController()
      stops.push(stop)
      const asked = { accept: 'text/event-stream', 'mcp-session-id': session }
      const response = await fetch(url, { headers: asked, signal: stop.signal })
      real.heard = hear(eventsOf(response), async () => stop.abort())
    },
    async cut() {
      stops.at(-1)?.abort()
      while (http.counts().streams > 0) await turn()
    },
    publish(file) {
      versions[file] = (versions[file] ?? 0) + 1
      registry.publish(catalogOf(versions, 1 + versions.reduce((sum, version) => sum + version, 0)))
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop.abort()
      await http[Symbol.asyncDispose]()
    },
  }
  return real
}

function catalogOf(versions: readonly number[], number: number): Catalog {
  const files = Object.fromEntries(FILES.map((file, index) => [file, `version ${versions[index]}\n`]))
  const source = sourceId('team')
  const snapshot = { ...snapshotOf(sample('one', { 'SKILL.md': 'one\n', ...files })), source }
  return buildCatalog({ number, createdAt: '', sources: [{ source, snapshot: String(number) }] }, [snapshot])
}
