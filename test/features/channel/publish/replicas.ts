import { createServer } from 'node:http'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { channelRoutes } from '../../../../src/features/channel/channel-routes.ts'
import { NO_HOLDER } from '../../../../src/serve/fair-shares.ts'
import { EventStreams } from '../../../../src/serve/http/server/event-stream.ts'
import { viewOf } from '../../../../src/serve/view.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { HTTP_LIMITS } from '../../../support/http/http-limits.ts'
import { never } from '../../../sync/store/samples.ts'
import { portOf } from '../../../sync/upstream/front.ts'
import { Hub } from './hub.ts'

/** A process of a hub: the publisher of its channel with a store of its own, and the database that it shares. */
export class Replica implements AsyncDisposable {
  readonly hub: Hub
  readonly shared: SharedStore

  private constructor(hub: Hub, shared: SharedStore) {
    this.hub = hub
    this.shared = shared
  }

  /** `leaseMs`: the lead ends so long after it was taken. */
  static async open(url: string, leaseMs = 60_000): Promise<Replica> {
    const shared = SharedStore.at({ url, times: { connectMs: 2_000, statementMs: 5_000 }, connections: 4 }, { leaseMs })
    return new Replica(await Hub.create({ shared, clock: systemClock }), shared)
  }

  /** Takes the lead. */
  async lead(): Promise<this> {
    await this.shared.open()
    if (!(await this.shared.leadership.take())) throw new Error('Another process leads')
    return this
  }

  /** Serves what the leader has published. Returns the number of entries. */
  async follow(): Promise<number | undefined> {
    await this.shared.open()
    return (await this.hub.publisher.follow(never()))?.entries
  }

  async checkpoint(): Promise<string | undefined> {
    const bytes = await this.hub.read('checkpoint')
    return bytes && Buffer.from(bytes).toString()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.hub.publisher.end()
    await this.hub[Symbol.asyncDispose]()
    await this.shared[Symbol.asyncDispose]()
  }
}

/** A proxy before the processes of a hub. It sends each request to the next one in turn. */
export class Turns implements AsyncDisposable {
  readonly url: string
  /** The paths that were requested, with the index of the process that answered, and its status. */
  readonly requests: { readonly path: string; readonly at: number; readonly status: number }[] = []
  /** The processes that the next requests go to, in this order; then each in turn. */
  readonly next: number[] = []
  /** The process that all requests go to, if it is set. */
  only: number | undefined
  readonly #close: () => Promise<void>
  #turn = 0

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.#close = close
  }

  static async before(...replicas: readonly Replica[]): Promise<Turns> {
    const streams = { streams: new EventStreams(HTTP_LIMITS), holderOf: () => NO_HOLDER }
    const routes = replicas.map(({ hub }) => {
      const host = {
        isOpenTo: () => true,
        read: async (_pack: string | undefined, path: string) => hub.read(path),
        reaches: async (_pack: string | undefined, size: number) => hub.publisher.reaches(size),
        isReady: () => hub.publisher.isReady,
        seen: () => {},
        report: () => false,
        watch: (_pack: string | undefined, watcher: Parameters<Hub['publisher']['watch']>[0]) =>
          hub.publisher.watch(watcher),
      }
      return channelRoutes(host, { ...streams, nothingHere: 'nothing here' })['/channel/**']
    })
    const server = createServer((request, response) => {
      const at = turns.only ?? turns.next.shift() ?? turns.#turn++ % replicas.length
      const path = (request.url ?? '').replace(/^\/channel\//, '')
      response.on('close', () => turns.requests.push({ path, at, status: response.statusCode }))
      void routes[at]?.answer(request, response, { name: path, principal: undefined, view: viewOf() })
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const turns = new Turns(`http://127.0.0.1:${portOf(server)}/channel/`, async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      streams.streams[Symbol.dispose]()
      await closed
    })
    return turns
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}
