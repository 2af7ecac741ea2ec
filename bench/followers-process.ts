import './run-the-build.ts'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { answerParent } from './child.ts'
import { Client, listenOf } from './serve-clients.ts'
import type { SimulatedFollower } from './simulated-follower.ts'
import { eventsRequest, WirePlace } from './wire-place.ts'

const { FollowedChannel, SimulatedFollower: Follower } = await import('./simulated-follower.ts')
const { parseVerifier } = await import('../src/sync/transparency-log/signed-note.ts')

// Thousands of receivers of one hub in one process: followers of its channel, followers that poll a web server with the same
// channel, and MCP clients. Started with the public key, the address of the channel, that of the copy, that of MCP, and the
// URI that the clients are subscribed to.

const [keyText = '', channelUrl = '', copyUrl = '', mcpUrl = '', uri = ''] = process.argv.slice(2)
const key = parseVerifier(keyText)
if (key === undefined) throw new TypeError(`No key: ${keyText}`)
const channel = new FollowedChannel(key)
const { signal } = new AbortController()

/** The first follower fetches everything. The others begin with what it has, as if they had followed for long. */
const first = new Follower(channel, new WirePlace(channelUrl))

/** The result of one change for all receivers of one kind. */
export interface Arrival {
  /** When the last one had all of it, in milliseconds since 1970. */
  readonly atMs: number
  /** When the middle one had it, and the one at 99 %. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** The average of one of them. */
  readonly requests: number
  readonly bytes: number
}

/** One that receives changes. */
interface Receiver extends Disposable {
  readonly traffic: { requests: number; bytes: number }
  /** Resolves when it is ready for changes. */
  open(): Promise<void>
  /** Resolves when it has the next change. */
  next(mark: string): Promise<void>
}

/** A follower that pulls when it is asked to, one pull at a time. */
class Following {
  readonly place: WirePlace
  readonly #follower: SimulatedFollower
  #change = Promise.withResolvers<void>()
  #isThere = (): boolean => false

  constructor(url: string) {
    this.place = new WirePlace(url)
    this.#follower = new Follower(channel, this.place, first.followed)
  }

  async pull(): Promise<void> {
    await this.#follower.pull(signal)
    if (this.#isThere()) this.#change.resolve()
  }

  async next(mark: string): Promise<void> {
    const { size, recalls } = this.#follower
    this.#isThere = mark === RECALL ? () => this.#follower.recalls > recalls : () => this.#follower.size > size
    this.#change = Promise.withResolvers()
    return this.#change.promise
  }
}

/** The mark of a change that is a recall. */
const RECALL = 'recall'

/** Follows the hub: pulls after each event of its stream. */
class Listener implements Receiver {
  readonly #following = new Following(channelUrl)
  readonly traffic = this.#following.place.traffic
  #stream: Socket | undefined
  #pulling: Promise<void> | undefined
  #isWanted = false

  async open(): Promise<void> {
    const opened = Promise.withResolvers<void>()
    this.#stream = openStream(channelUrl, eventsRequest(channelUrl), 'data:', (bytes) => {
      this.traffic.bytes += bytes
      this.#isWanted = true
      this.#pulling ??= this.#pull().finally(() => (this.#pulling = undefined))
      void this.#pulling.then(opened.resolve)
    })
    return opened.promise
  }

  async next(mark: string): Promise<void> {
    return this.#following.next(mark)
  }

  [Symbol.dispose](): void {
    this.#stream?.destroy()
  }

  async #pull(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false
      await this.#following.pull()
      // Changes are minutes apart: no server keeps a connection for so long.
      this.#following.place.close()
    }
  }
}

/** Follows the copy: polls about each second. */
class Poller implements Receiver {
  readonly #following = new Following(copyUrl)
  readonly traffic = this.#following.place.traffic
  #isOver = false

  async open(): Promise<void> {
    await this.#following.pull()
    void this.#poll()
  }

  async next(mark: string): Promise<void> {
    return this.#following.next(mark)
  }

  [Symbol.dispose](): void {
    this.#isOver = true
  }

  async #poll(): Promise<void> {
    await pause(PERIOD_MS * Math.random())
    while (!this.#isOver) {
      const startMs = performance.now()
      await this.#following.pull()
      const periodMs = PERIOD_MS * (0.9 + 0.2 * Math.random())
      await pause(Math.max(periodMs - (performance.now() - startMs), 0))
    }
    this.#following.place.close()
  }
}

const PERIOD_MS = 1_000

/** A client that is subscribed to the file that changes, and reads it after each notification. */
class Subscribed implements Receiver {
  static #count = 0
  readonly traffic = { requests: 0, bytes: 0 }
  readonly #client: Client
  #stream: Socket | undefined
  #mark = ''
  #change = Promise.withResolvers<void>()

  constructor(client: Client) {
    this.#client = client
  }

  async open(): Promise<void> {
    Subscribed.#count += 1
    const opened = Promise.withResolvers<void>()
    const request = listenOf(mcpUrl, Subscribed.#count, uri)
    this.#stream = openStream(mcpUrl, request, 'notifications/resources/updated', (bytes) => {
      this.traffic.bytes += bytes
      void this.#read()
    })
    this.#stream.once('data', () => opened.resolve())
    return opened.promise
  }

  async next(mark: string): Promise<void> {
    this.#mark = mark
    this.#change = Promise.withResolvers()
    return this.#change.promise
  }

  [Symbol.dispose](): void {
    this.#stream?.destroy()
  }

  async #read(): Promise<void> {
    using wire = await this.#client.wire()
    const request = this.#client.request('resources/read', { uri })
    const answer = await wire.exchange(request)
    this.traffic.requests += 1
    this.traffic.bytes += request.length + answer.length
    if (!answer.includes(this.#mark)) throw new Error(`${uri} does not have "${this.#mark}"`)
    this.#change.resolve()
  }
}

/** Calls back for each piece of a stream that has the mark, with its bytes. */
function openStream(url: string, request: Buffer, mark: string, onMark: (bytes: number) => void): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write(request)
  let text = ''
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
    if (!text.includes(mark)) return
    const { length } = text
    text = ''
    onMark(length)
  })
  socket.on('error', () => {})
  return socket
}

const client = await Client.open('modern', mcpUrl)
const KINDS: Readonly<Record<string, () => Receiver>> = {
  followers: () => new Listener(),
  pollers: () => new Poller(),
  clients: () => new Subscribed(client),
}

const open = new Map<string, readonly Receiver[]>()
let coming: Promise<readonly (readonly [string, Arrival])[]> = Promise.resolve([])

answerParent({
  /** Opens so many receivers of each of these kinds. */
  open: async ([count, ...kinds]) => {
    await first.pull(signal)
    for (const kind of kinds) {
      const receivers = Array.from({ length: Number(count) }, KINDS[kind] ?? (() => new Listener()))
      // Not more at once than a listener can queue.
      for (let index = 0; index < receivers.length; index += 100)
        await Promise.all(receivers.slice(index, index + 100).map(async (one) => one.open()))
      open.set(kind, receivers)
    }
  },
  /** From now on a change is expected. The file has the mark then. */
  expect: ([mark = '']) => {
    const arrivals = [...open].map(async ([kind, receivers]) => [kind, await arrivalAt(receivers, mark)] as const)
    coming = Promise.all(arrivals)
  },
  arrived: async () => Object.fromEntries(await coming),
  close: () => {
    for (const receivers of open.values()) for (const one of receivers) one[Symbol.dispose]()
    open.clear()
  },
  /** The first sync of so many followers at once, at the hub or at the copy. */
  first: async ([count, place]) => {
    const url = place === 'copy' ? copyUrl : channelUrl
    const places = Array.from({ length: Number(count) }, () => new WirePlace(url))
    await Promise.all(places.map(async (one) => new Follower(channel, one).pull(signal)))
    const arrival = arrivalOf(
      places.map(({ traffic }) => traffic),
      [nowMs()],
    )
    for (const one of places) one.close()
    return arrival
  },
})

async function arrivalAt(receivers: readonly Receiver[], mark: string): Promise<Arrival> {
  const traffic = receivers.map((one) => Object.assign(one.traffic, { requests: 0, bytes: 0 }))
  const times = receivers.map(async (one) => {
    await one.next(mark)
    return nowMs()
  })
  return arrivalOf(traffic, await Promise.all(times))
}

function arrivalOf(
  traffic: readonly { readonly requests: number; readonly bytes: number }[],
  times: readonly number[],
): Arrival {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  const meanOf = (what: 'requests' | 'bytes'): number =>
    traffic.reduce((sum, one) => sum + one[what], 0) / traffic.length
  return {
    atMs: at(1),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    requests: meanOf('requests'),
    bytes: meanOf('bytes'),
  }
}

function nowMs(): number {
  return performance.timeOrigin + performance.now()
}
