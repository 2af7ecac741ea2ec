import type { ChannelPlace, KnownCheckpoint, ServedCheckpoint } from '../src/features/channel/follow/channel-place.ts'
import { FOLLOWER_HEADER, REPORT_PATH } from '../src/features/channel/recall/follower-report.ts'
import { Wire, requestOf } from './wire.ts'

/** The traffic of one follower, both ways, with the heads. */
export interface Traffic {
  requests: number
  bytes: number
}

/** The connections of one simulated follower, and its requests: the same bytes that a real one sends. */
export class WirePlace implements ChannelPlace {
  readonly traffic: Traffic = { requests: 0, bytes: 0 }
  readonly #url: string
  /** Open, and without a request: the last one is used first, as Node does. */
  #idle: Wire[] = []

  /** `url` ends with a slash. */
  constructor(url: string) {
    this.#url = url
  }

  async checkpoint(known: KnownCheckpoint): Promise<ServedCheckpoint> {
    const { status, etag: served, body } = await this.#get('checkpoint', known)
    if (status === 304) return { kind: 'unchanged' }
    if (status !== 200) throw new Error(`The checkpoint was answered with ${status}`)
    return { kind: 'checkpoint', note: body.toString(), etag: served }
  }

  async report(text: string): Promise<boolean> {
    const headers = { 'content-type': 'application/json', ...AGENT }
    const { status } = await this.#answered(requestOf(new URL(REPORT_PATH, this.#url).href, 'POST', headers, text))
    return status === 204
  }

  async read(path: string, mostBytes: number): Promise<Uint8Array | undefined> {
    const { status, body } = await this.#get(path, {})
    if (status === 404) return undefined
    if (status !== 200 || body.length > mostBytes)
      throw new Error(`${path} was answered with ${status} and ${body.length} bytes`)
    return body
  }

  /** Closes the connections: changes are further apart than a server keeps an idle one. */
  close(): void {
    for (const wire of this.#idle) wire[Symbol.dispose]()
    this.#idle = []
  }

  async #get(path: string, known: Partial<KnownCheckpoint>): Promise<Answer> {
    return this.#answered(pathRequest(new URL(path, this.#url).href, known))
  }

  async #answered(request: Buffer): Promise<Answer> {
    const answer = await this.#exchange(request)
    this.traffic.requests += 1
    this.traffic.bytes += request.length + answer.length
    return answerIn(answer)
  }

  /** The server may close an idle connection just as it is used again: then there is no answer, and another one is opened. */
  async #exchange(request: Buffer): Promise<Buffer> {
    this.#idle = this.#idle.filter(({ isOpen }) => isOpen)
    const idle = this.#idle.pop()
    const answer = await idle?.exchange(request).catch(() => undefined)
    if (idle !== undefined && answer !== undefined) {
      this.#idle.push(idle)
      return answer
    }
    const opened = await Wire.open(this.#url)
    const first = await opened.exchange(request)
    this.#idle.push(opened)
    return first
  }
}

/** The request for the stream of the events of a channel, as a real follower sends it. */
export function eventsRequest(url: string): Buffer {
  return requestOf(new URL('events', url).href, 'GET', { accept: 'text/event-stream', ...AGENT })
}

const AGENT = { 'user-agent': 'skillsyncd', connection: 'keep-alive' }

function pathRequest(url: string, { etag, follower }: Partial<KnownCheckpoint>): Buffer {
  const known = {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(follower !== undefined && { [FOLLOWER_HEADER]: follower }),
  }
  return requestOf(url, 'GET', { ...known, 'accept-encoding': 'identity', ...AGENT })
}

interface Answer {
  readonly status: number
  readonly etag: string | undefined
  readonly body: Buffer
}

function answerIn(answer: Buffer): Answer {
  const end = answer.indexOf('\r\n\r\n')
  const head = answer.toString('latin1', 0, end)
  return { status: Number(head.slice(9, 12)), etag: /^etag: (.*)$/im.exec(head)?.[1], body: answer.subarray(end + 4) }
}
