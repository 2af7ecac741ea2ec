import { setTimeout as wait } from 'node:timers/promises'
import { contentOf } from '../../conformance/peers.ts'
import { legacyHttp, modernHttp } from '../../support/clients/peer.ts'
import type { Heard, Peer } from '../../support/clients/peer.ts'
import type { MovingSource } from './moving-source.ts'

/**
 * A client that reads a file only when it is notified of it, or after it has connected anew. It connects anew when its
 * stream ends, or when a request of it fails.
 */
export class Follower implements AsyncDisposable {
  readonly kind: string
  /** The commit of the bytes that it has. */
  commit = 0
  notified = 0
  /** The step of its work, for the message of a failure. */
  step = ''
  connected = 0
  readonly failures: unknown[] = []
  readonly #open: () => Promise<Peer>
  readonly #source: MovingSource
  readonly #over = new AbortController()
  #running: Promise<void> = Promise.resolve()

  private constructor(era: string, open: () => Promise<Peer>, source: MovingSource) {
    this.kind = `${era} ${source.id}`
    this.#open = open
    this.#source = source
    this.#running = this.#follow()
  }

  /** One client of each era, before the same proxy. */
  static of(url: string, source: MovingSource): readonly Follower[] {
    return [
      new Follower('2026', async () => modernHttp(url), source),
      new Follower('2025', async () => legacyHttp(url), source),
    ]
  }

  /** True if it has the content of the last commit. */
  get hasLast(): boolean {
    return this.commit === this.#source.count
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#running
  }

  async #follow(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await this.#connect().catch((error: unknown) => {
        if (!isRefusal(error)) this.failures.push(error)
      })
      await wait(PAUSE_MS, undefined, { signal: this.#over.signal }).catch(() => {})
    }
  }

  /** Ends with an error, such as that of the end of the stream. */
  async #connect(): Promise<never> {
    this.step = 'opening'
    await using peer = await this.#open()
    this.step = 'subscribing'
    await using heard = await peer.subscribe([this.#source.uri])
    using _end = this.#whenOver(async () => {
      await heard[Symbol.asyncDispose]()
      await peer[Symbol.asyncDispose]()
    })
    if (peer.era === 'modern') await heard.next(({ method }) => method?.endsWith('/acknowledged') === true)
    await this.#read(peer)
    this.connected += 1
    return await this.#listen(peer, heard)
  }

  /** Ends the stream, which would last on. */
  #whenOver(end: () => Promise<void>): Disposable {
    const { signal } = this.#over
    const listener = (): void => void end()
    if (signal.aborted) listener()
    signal.addEventListener('abort', listener)
    return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) }
  }

  async #listen(peer: Peer, heard: Heard): Promise<never> {
    const known = new Set<unknown>()
    for (;;) {
      this.step = 'listening'
      known.add(await heard.next((message) => isUpdate(message) && !known.has(message)))
      this.notified += 1
      await this.#read(peer)
    }
  }

  async #read(peer: Peer): Promise<void> {
    this.step = 'reading'
    const reply = await peer.call('resources/read', { uri: this.#source.uri })
    if (reply.error !== undefined || reply.status !== 200) throw new Refused(JSON.stringify(reply.error))
    this.commit = this.#source.commitOf(contentOf(reply).bytes)
  }
}

/** A process of the hub, or the proxy, has not answered the request of a client. */
class Refused extends Error {}

function isUpdate(message: { readonly method?: string }): boolean {
  return message.method === 'notifications/resources/updated'
}

/** The errors of a client without a server, of its parser for an error page, and of a stream that is none. */
function isRefusal(error: unknown): boolean {
  if (error instanceof Refused || error instanceof TypeError || error instanceof SyntaxError) return true
  return (
    error instanceof Error &&
    /^(?:No event stream|The stream ended|-32\d{3} |This operation was aborted)/.test(error.message)
  )
}

const PAUSE_MS = 100
