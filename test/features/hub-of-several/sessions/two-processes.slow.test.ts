import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { SharedSessionLog } from '../../../../src/features/hub-of-several/sessions/shared-session-log.ts'
import { EventStream } from '../../../../src/serve/http/server/event-stream.ts'
import { EVERY_PART } from '../../../../src/serve/mcp/events/list-kinds.ts'
import type { SessionLog } from '../../../../src/serve/mcp/transports/session-store.ts'
import { Session } from '../../../../src/serve/mcp/transports/session.ts'
import { WHOLE } from '../../../../src/serve/view.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { openSessions } from '../../../serve/http/opened.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

const URIS = ['a.md', 'b.md'].map((file) => `skill://team/one/${file}`)

describePostgres('two processes over one database', (server) => {
  test('however a client goes from one to the other, and whichever is killed, it hears once of each change, and of nothing else', async () => {
    await using folder = await temporaryFolder()
    using store = await Store.open(join(folder.path, 'state'))
    const url = await server.createDatabase()
    const law = fc.asyncProperty(fc.array(STEP, { maxLength: 20 }), async (steps) => {
      await using scene = await openScene({ url, store })
      const clients = [await scene.open(0, 1), await scene.open(1, 0)]
      for (const { kind, who, at, files } of [...steps, ...LAST]) {
        const client = clients[who]!
        if (kind === 'publish') scene.publish(files)
        else if (kind === 'serve') await scene.serve(at)
        else if (kind === 'kill') await scene.kill(at)
        else if (kind === 'drop') await client.drop()
        else await client.connect(at)
        for (const one of clients) one.hear()
      }

      expect(clients.flatMap(({ faults }) => faults)).toEqual([])
      expect(clients.map((client) => client.known)).toEqual([scene.versions, scene.versions])
    })
    await fc.assert(law, { numRuns: 60 })
  }, 240_000)
})

const STEP = fc.record({
  kind: fc.constantFrom('publish', 'serve', 'serve', 'connect', 'connect', 'drop', 'kill'),
  who: fc.nat(1),
  at: fc.nat(1),
  files: fc.tuple(fc.nat(2), fc.nat(2)),
})

/** At the end both processes serve what was published last, and both clients listen. */
const LAST = (['serve', 'connect'] as const).flatMap((kind) =>
  [0, 1].map((index) => ({ kind, who: index, at: index, files: [0, 0] as [number, number] })),
)

interface Place {
  readonly store: Store
  readonly url: string
}

async function openScene(place: Place) {
  const published: (readonly number[])[] = [[0, 0]]
  const catalogs: Catalog[] = [catalogAt(1, [0, 0])]
  const catalogOf: SessionLog['catalogOf'] = async ({ digest }) => catalogs.find((one) => one.digest === digest)
  const start = async (): Promise<Process> => startProcess(place, catalogOf, catalogs.at(-1)!)
  const processes = [await start(), await start()]
  const clients: Client[] = []
  /** Everything that the processes owe each other and the database. */
  const settle = async (): Promise<void> => {
    for (const { log } of processes) await log.refresh()
  }
  return {
    get versions() {
      return published.at(-1)!
    },
    publish(files: readonly number[]) {
      published.push(files)
      catalogs.push(catalogAt(published.length, files))
    },
    async serve(at: number) {
      const { log, opened } = processes[at]!
      await log.refresh()
      // What the clients are notified of by this is not recorded yet when the next step begins.
      opened.registry.publish(catalogs.at(-1)!)
      await turn()
    },
    async kill(at: number) {
      for (const client of clients) if (client.at === at) await client.drop()
      // What a kill takes between a notification and its record is announced again: that is no part of this law.
      await settle()
      const { shared } = processes[at]!
      await shared[Symbol.asyncDispose]()
      // After fifteen seconds it counts as dead. Before that it is waited for, which this law does not need.
      const text = "UPDATE skillsyncd.session_replica SET seen = '-infinity' WHERE replica = $1"
      await processes[1 - at]!.shared.database.query('forget a process', text, [shared.id])
      processes[at] = await start()
    },
    async open(opening: number, subscribing: number): Promise<Client> {
      const { id, session } = processes[opening]!.opened.sessions.open()!
      session.keep()
      await session.written
      const { sessions } = processes[subscribing]!.opened
      await sessions.bring({ id, principalId: undefined, view: WHOLE, forStream: false })
      const found = sessions.find(id)!
      for (const uri of URIS) found.subscribe(uri, uri)
      await found.written
      await settle()
      const client = new Client(id, processes, published)
      clients.push(client)
      return client
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.drop()
      for (const { shared } of processes) await shared[Symbol.asyncDispose]()
    },
  }
}

type Process = Awaited<ReturnType<typeof startProcess>>

async function startProcess({ url, store }: Place, catalogOf: SessionLog['catalogOf'], catalog: Catalog) {
  const shared = SharedStore.at({ url, connections: 2 })
  const stream = { write: () => true }
  const clock = systemClock
  const logging = createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  // An owner that lives is not overruled, however busy the machine is.
  const log = new SharedSessionLog({ store, shared, clock, log: logging, handoverMs: 30_000 })
  const sessionLog: SessionLog = {
    load: async (all) => log.load(all),
    append: async (record) => log.append(record),
    catalogOf,
    elsewhere: log,
  }
  const opened = await openSessions({ log: sessionLog, limits: { sessions: 100, idleMs: 3_600_000 }, catalog })
  await log.refresh()
  return { log, shared, opened }
}

/** A client that says what is wrong with what it hears. */
class Client {
  readonly #id: string
  readonly #processes: readonly Process[]
  /** The versions of the files in each generation, which are counted from 1. */
  readonly #published: readonly (readonly number[])[]
  /** The generation at which it heard of each file last. */
  #heardAt: readonly number[] = [1, 1]
  readonly faults: string[] = []
  at: number | undefined
  #response: ServerResponse | undefined
  #sink = new PassThrough()

  constructor(id: string, processes: readonly Process[], published: readonly (readonly number[])[]) {
    this.#id = id
    this.#processes = processes
    this.#published = published
  }

  /** The versions of the files that it knows. */
  get known(): readonly number[] {
    return this.#heardAt.map((generation, file) => this.#published[generation - 1]![file]!)
  }

  /** Opens its stream at a process; if it has one there, nothing happens. */
  async connect(at: number): Promise<void> {
    if (this.at === at && this.#response?.writableEnded === false) return
    const { sessions } = this.#processes[at]!.opened
    const bringing = sessions.bring({ id: this.#id, principalId: undefined, view: WHOLE, forStream: true })
    // The loop of the process that has the session.
    const refreshed = async (): Promise<'refreshed'> => {
      for (const { log } of this.#processes) await log.refresh()
      return 'refreshed'
    }
    while ((await Promise.race([bringing, refreshed()])) === 'refreshed') await turn()
    expect(await bringing).toBeUndefined()
    this.hear()
    await this.drop()
    const session = sessions.find(this.#id)
    if (!(session instanceof Session)) throw new Error('The session was not brought')
    this.at = at
    this.#sink = new PassThrough()
    this.#response = new ServerResponse(new IncomingMessage(new Socket()))
    this.#response.assignSocket(this.#sink as unknown as Socket)
    session.listenOn(new EventStream(this.#response), EVERY_PART)
    for (let turns = 0; turns < 5; turns += 1) await turn()
    for (const { log } of this.#processes) await log.refresh()
  }

  async drop(): Promise<void> {
    const dropped = this.#response
    this.#response = undefined
    this.at = undefined
    if (dropped === undefined || dropped.destroyed) return
    const closed = once(dropped, 'close')
    dropped.destroy()
    await closed
  }

  hear(): void {
    const told = [...String(this.#sink.read() ?? '').matchAll(/^data: (.*)$/gm)].flatMap(([, json]) => {
      const uri: string | undefined = JSON.parse(json!).params?.uri
      return uri === undefined ? [] : [uri]
    })
    if (told.length === 0 || this.at === undefined) return
    const { generation } = this.#processes[this.at]!.opened.registry.catalog
    if (new Set(told).size < told.length) this.faults.push(`twice: ${told.join(' ')}`)
    for (const uri of told) {
      const file = URIS.indexOf(uri)
      const since = this.#published.slice(this.#heardAt[file]! - 1, generation).map((versions) => versions[file])
      if (new Set(since).size < 2) this.faults.push(`for nothing: ${uri} of ${generation}`)
      this.#heardAt = this.#heardAt.with(file, generation)
    }
  }
}

function catalogAt(number: number, versions: readonly number[]): Catalog {
  const texts = versions.map((version, index) => [`${'ab'[index]}.md`, `version ${version}\n`] as const)
  const source = sourceId('team')
  const snapshot = { ...snapshotOf(sample('one', { 'SKILL.md': 'one\n', ...Object.fromEntries(texts) })), source }
  return buildCatalog({ number, createdAt: '', sources: [{ source, snapshot: versions.join('') }] }, [snapshot])
}
