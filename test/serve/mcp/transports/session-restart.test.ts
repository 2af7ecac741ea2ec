import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventStream } from '../../../../src/serve/http/server/event-stream.ts'
import { EVERY_PART } from '../../../../src/serve/mcp/events/list-kinds.ts'
import type { Forms } from '../../../../src/serve/mcp/resources/forms.ts'
import { sessionsAfter } from '../../../../src/serve/mcp/transports/session-store.ts'
import type { SessionLog, SessionRecord } from '../../../../src/serve/mcp/transports/session-store.ts'
import type { Session } from '../../../../src/serve/mcp/transports/session.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'
import { openSessions } from '../../http/opened.ts'
import type { Opened } from '../../http/opened.ts'

const URIS = ['a.md', 'b.md', 'c.md'].map((file) => `skill://team/one/${file}`)

test('a publish is one record, however many sessions are told of it', async () => {
  const scene = await openScene()
  const clients = Array.from({ length: 100 }, () => scene.open())
  for (const client of clients.slice(50)) await client.connect()
  scene.records.length = 0

  scene.publish([1, 0, 0])
  const first = scene.records.splice(0)
  scene.publish([2, 0, 0])
  const second = scene.records.splice(0)

  expect(first.map(({ kind }) => kind).toSorted()).toEqual([...Array(50).fill('missed'), 'told'])
  expect(second).toMatchObject([{ kind: 'told', mark: { generation: 3 } }])
})

test('a session that missed nothing is told nothing after a restart, whatever was collected meanwhile', async () => {
  const scene = await openScene()
  const client = scene.open([URIS[0]!])
  scene.publish([0, 1, 0])
  scene.publish([0, 2, 0])
  scene.collected = true

  await scene.restart()

  expect(await client.connect()).toEqual([])
})

test('a session whose catalog is gone is told of each of its URIs once, and of the list once', async () => {
  const scene = await openScene()
  const client = scene.open([URIS[0]!, URIS[1]!])
  scene.publish([1, 0, 0])
  scene.collected = true

  await scene.restart()

  expect((await client.connect()).toSorted()).toEqual(['list_changed', URIS[0], URIS[1]])
  await client.drop()
  expect(await client.connect()).toEqual([])
})

test('a session is told once of the index, the archives and the list when the forms are others after a restart', async () => {
  const scene = await openScene()
  const archive = 'skill://team/one.zip'
  const client = scene.open([URIS[0]!, archive, 'skill://index.json'])

  await scene.restart(formsOf({ archives: ['zip'] }))

  expect((await client.connect()).toSorted()).toEqual(['list_changed', 'skill://index.json', archive])
  await client.drop()
  expect(await client.connect()).toEqual([])
})

test('a session that did not come back before the next restart is told then', async () => {
  const scene = await openScene()
  const client = scene.open()
  scene.publish([1, 0, 0])
  await scene.restart()
  scene.publish([1, 1, 0])
  await scene.restart()

  expect((await client.connect()).toSorted()).toEqual([URIS[0], URIS[1]])
})

test('a session whose stream breaks while its past is looked up is told on the next one', async () => {
  const scene = await openScene()
  const client = scene.open()
  scene.publish([1, 0, 0])
  await scene.restart()
  const looking = Promise.withResolvers<void>()
  scene.looking = looking.promise

  const connecting = client.connect()
  await client.drop()
  looking.resolve()

  expect(await connecting).toEqual([])
  expect(await client.connect()).toEqual([URIS[0]])
})

test('whatever is published, whoever comes and goes, and however often the server is killed: all that changed is told, and only that', async () => {
  const law = fc.asyncProperty(fc.array(STEP, { maxLength: 25 }), async (steps) => {
    const scene = await openScene()
    const clients = [scene.open(), scene.open([URIS[0]!, URIS[2]!])]
    const faults: string[] = []
    for (const { kind, who, files } of [...steps, ...LAST]) {
      const client = clients[who]!
      if (kind === 'publish') scene.publish(files)
      else if (kind === 'restart') await scene.restart()
      else if (kind === 'drop') await client.drop()
      else if (!client.isConnected) {
        const versions = scene.served.slice(client.known)
        faults.push(...faultsIn(await client.connect(), client.subscribed, versions))
      }
    }

    expect(faults).toEqual([])
  })
  await fc.assert(law, { numRuns: 200 })
})

/** What is wrong with what a client was told that knew the first of these versions of the files, and is told at the last. */
function faultsIn(told: readonly string[], subscribed: readonly string[], served: readonly (readonly number[])[]) {
  const faults = new Set(told).size < told.length ? [`twice: ${told.join(' ')}`] : []
  for (const uri of subscribed) {
    const versions = served.map((version) => version[URIS.indexOf(uri)])
    if (versions[0] !== versions.at(-1) && !told.includes(uri)) faults.push(`not told: ${uri}`)
    if (new Set(versions).size === 1 && told.includes(uri)) faults.push(`told for nothing: ${uri}`)
  }
  return faults
}

const LIMITS = { sessions: 1_000 }

const FILES = fc.tuple(fc.nat(1), fc.nat(1), fc.nat(1))
const STEP = fc.record({
  kind: fc.constantFrom('publish', 'publish', 'connect', 'drop', 'restart'),
  who: fc.nat(1),
  files: FILES,
})
/** At the end everybody hears of everything. */
const LAST = [
  { kind: 'restart', who: 0, files: [0, 0, 0] },
  { kind: 'connect', who: 0, files: [0, 0, 0] },
  { kind: 'connect', who: 1, files: [0, 0, 0] },
] as const

interface Scene {
  readonly served: readonly (readonly number[])[]
  readonly opened: Opened
  readonly restarts: (() => Promise<void>)[]
}

interface Client {
  readonly subscribed: readonly string[]
  /** The generation that it knows all of, counted from 0. */
  readonly known: number
  readonly isConnected: boolean
  /** Opens a stream, and says what is told on it at once. */
  connect(): Promise<string[]>
  drop(): Promise<void>
}

/** One skill with three files, served as generation after generation, and sessions that outlive kills. */
async function openScene() {
  const records: SessionRecord[] = []
  const catalogs: Catalog[] = [catalogAt(1, [0, 0, 0])]
  const scene = {
    records,
    /** The versions of the files in each generation. */
    served: [[0, 0, 0]] as (readonly number[])[],
    collected: false,
    looking: Promise.resolve(),
    restarts: [] as (() => Promise<void>)[],
    opened: undefined as unknown as Opened,
    publish(files: readonly number[]) {
      scene.served.push(files)
      catalogs.push(catalogAt(catalogs.length + 1, files))
      scene.opened.registry.publish(catalogs.at(-1)!)
    },
    /** As a kill would have it: nobody is told, and what the log has is all there is. */
    async restart(forms?: Forms) {
      for (const restarted of scene.restarts) await restarted()
      scene.opened = await openSessions({ log, limits: LIMITS, catalog: catalogs.at(-1)!, ...(forms && { forms }) })
    },
    open: (subscribed: readonly string[] = URIS): Client => openClient(scene, subscribed),
  }
  let anew: (() => Iterable<SessionRecord>) | undefined
  const log: SessionLog = {
    async load(all) {
      anew = all
      return sessionsAfter(records)
    },
    async append(record) {
      if (anew === undefined) records.push(structuredClone(record))
      else records.splice(0, Infinity, ...[...anew()].map((one) => structuredClone(one)))
      anew = undefined
    },
    async catalogOf(mark) {
      await scene.looking
      return scene.collected ? undefined : catalogs.find(({ digest }) => digest === mark.digest)
    },
  }
  scene.opened = await openSessions({ log, limits: LIMITS, catalog: catalogs[0]! })
  return scene
}

function openClient(scene: Scene, subscribed: readonly string[]): Client {
  const { id, session } = scene.opened.sessions.open()!
  session.keep()
  for (const uri of subscribed) session.subscribe(uri, uri)
  let response: ServerResponse | undefined
  const client = {
    subscribed,
    known: scene.served.length - 1,
    get isConnected() {
      return response !== undefined
    },
    async connect(): Promise<string[]> {
      const sink = new PassThrough()
      response = new ServerResponse(new IncomingMessage(new Socket()))
      response.assignSocket(sink as unknown as Socket)
      const session = scene.opened.sessions.find(id) as Session
      session.listenOn(new EventStream(response), EVERY_PART)
      for (let turns = 0; turns < 5; turns += 1) await turn()
      client.known = scene.served.length - 1
      return [...String(sink.read() ?? '').matchAll(/^data: (.*)$/gm)].map(([, json]) => {
        const { method, params } = JSON.parse(json!)
        return params?.uri ?? String(method).replace('notifications/resources/', '')
      })
    },
    async drop() {
      const dropped = response
      response = undefined
      if (dropped === undefined) return
      // What was published while the stream was open was told on it.
      client.known = scene.served.length - 1
      const closed = once(dropped, 'close')
      dropped.destroy()
      await closed
    },
  }
  scene.restarts.push(() => client.drop())
  return client
}

function catalogAt(number: number, versions: readonly number[]): Catalog {
  const texts = versions.map((version, index) => [`${'abc'[index]}.md`, `version ${version}\n`] as const)
  const source = sourceId('team')
  const snapshot = { ...snapshotOf(sample('one', { 'SKILL.md': 'one\n', ...Object.fromEntries(texts) })), source }
  return buildCatalog({ number, createdAt: '', sources: [{ source, snapshot: versions.join('') }] }, [snapshot])
}
