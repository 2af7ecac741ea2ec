import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { partAsked } from '../../serve/http/byte-range.ts'
import { EventStream, refusalOfStream } from '../../serve/http/server/event-stream.ts'
import type { HttpRoute, ReceivedRequest, Routes } from '../../serve/http/server/listener.ts'
import { readBody } from '../../serve/http/server/request-body.ts'
import { hasRoom, sendBusy, sendError, sendNoStream, sendPieces, sendStatus } from '../../serve/http/server/response.ts'
import type { Principal } from '../../serve/principal.ts'
import type { FeatureSite } from '../../serve/site/server.ts'
import { WHOLE } from '../../serve/view.ts'
import type { View } from '../../serve/view.ts'
import { FOLLOWER_HEADER, MOST_REPORT_BYTES, REPORT_PATH } from './recall/follower-report.ts'

/** The channels of this hub, each by its name below /channels/; `undefined` is the one at /channel/. */
export interface ChannelHost {
  /** True if there is such a channel, and a client of this view may read it. */
  isOpenTo(channel: string | undefined, view: View): boolean
  /** Returns the object at a path of the channel as it is now, without its bytes; `undefined` if it has to be read. */
  objectAt?(channel: string | undefined, path: string): Promise<ChannelObject | undefined>
  /** Returns the bytes at a path of the channel as it is now; `undefined` if there is nothing. */
  read(channel: string | undefined, path: string): Promise<Uint8Array | undefined>
  /**
   * Resolves with true when the channel has so many entries, or as many as there are; with false if that is not known
   * soon, since another process of the hub may have more.
   */
  reaches(channel: string | undefined, size: number): Promise<boolean>
  /** False while the channel is not published yet: it exists, and cannot be read. */
  isReady(channel: string | undefined): boolean
  /** Records a follower, and how far it obeys, by the value of its header. Other text is ignored. */
  seen(channel: string | undefined, principal: string, text: string): void
  /** Takes the report of a follower. False if it is none. */
  report(channel: string | undefined, principal: string, bytes: Uint8Array): boolean
  /** Reports each new checkpoint of the channel until the returned value is disposed. */
  watch(channel: string | undefined, watcher: CheckpointWatcher): Disposable
}

/** An object of a channel: its size and its SHA-256 in hex, as the path has it. */
export interface ChannelObject {
  readonly size: number
  readonly sha256: string
}

/** Receives the checkpoints of a channel. */
export interface CheckpointWatcher {
  readonly onCheckpoint: (note: string) => void
  /** Called when no further one comes, because another host of the channel goes on. */
  readonly onEnd: () => void
}

/** A follower that waits for checkpoints takes a place among the streams of the whole server. */
type ChannelSite = Omit<FeatureSite, 'serving'>

/**
 * The routes of the channels, the same files that a web server would serve from a folder. A channel that the caller must
 * not see is as one that does not exist.
 */
export function channelRoutes(host: ChannelHost, site: ChannelSite): Routes {
  const endpoint = new ChannelEndpoint(host, site)
  const route = { scope: 'channel', methods: ['GET', 'HEAD', 'POST'], audit: 'refusals' } as const
  const ofAll: HttpRoute = { ...route, answer: (...asked) => endpoint.answerAll(...asked) }
  const ofPart: HttpRoute = { ...route, answer: (...asked) => endpoint.answerPart(...asked) }
  return { '/channel/**': ofAll, '/channels/**': ofPart }
}

class ChannelEndpoint {
  readonly #host: ChannelHost
  readonly #site: ChannelSite

  constructor(host: ChannelHost, site: ChannelSite) {
    this.#host = host
    this.#site = site
  }

  async answerAll(request: IncomingMessage, response: ServerResponse, { name, ...asked }: ReceivedRequest) {
    return this.#answer(request, response, { ...asked, channel: undefined, path: name })
  }

  async answerPart(request: IncomingMessage, response: ServerResponse, { name, ...asked }: ReceivedRequest) {
    const [, channel = '', path = ''] = /^([^/]+)\/(.+)$/.exec(name) ?? []
    return this.#answer(request, response, { ...asked, channel, path })
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    { channel, path, principal, view }: Omit<ReceivedRequest, 'name'> & { channel: string | undefined; path: string },
  ): Promise<void> {
    if (!this.#host.isOpenTo(channel, view)) return this.#nothing(response)
    if (request.method === 'POST') return this.#takeReport(request, response, { channel, path, principal })
    if (!this.#host.isReady(channel))
      return sendError(response, { status: 503, code: -32000, message: NOT_YET, headers: { 'retry-after': '5' } })
    if (path === EVENTS_PATH) return this.#follow(request, response, { channel, principal })
    const condition = request.headers['if-none-match']
    if (path === CHECKPOINT_PATH && !(await this.#host.reaches(channel, sizeIn(condition))))
      return sendError(response, { status: 503, code: -32000, message: BEHIND, headers: { 'retry-after': '1' } })
    const follower = request.headers[FOLLOWER_HEADER]
    if (path === CHECKPOINT_PATH && typeof follower === 'string')
      this.#host.seen(channel, principal?.id ?? '', follower)
    // An object can be large, and is read only for an answer that has bytes of it.
    const object = await this.#host.objectAt?.(channel, path)
    const read = object === undefined ? await this.#host.read(channel, path) : undefined
    if (object === undefined && read === undefined) return this.#nothing(response)
    const size = object?.size ?? read?.length ?? 0
    const etag = object === undefined ? etagAt(path, read ?? EMPTY) : etagOf(Buffer.from(object.sha256, 'hex'))
    const headers = {
      'content-type': 'application/octet-stream',
      etag,
      'cache-control': cachingOf(path, principal),
      'accept-ranges': 'bytes',
    }
    // A weak comparison, as RFC 9110 (13.1.2) asks for: a proxy that compresses marks the tag as weak.
    if (isAmong(condition, etag)) return sendStatus(response, 304, headers)
    // A range is defined for GET alone.
    const part = request.method === 'GET' ? partAsked(request.headers, size, etag) : 'whole'
    if (part === 'none') return sendStatus(response, 416, { 'content-range': `bytes */${size}` })
    if (request.method === 'HEAD') return sendStatus(response, 200, { ...headers, 'content-length': String(size) })
    // The whole object is read, since a part of it proves nothing: there must be room for it.
    if (!hasRoom(response, size)) return sendBusy(response)
    const bytes = read ?? (await this.#host.read(channel, path))
    if (bytes === undefined) return this.#nothing(response)
    if (part === 'whole') return sendPieces(response, { status: 200, headers, pieces: [bytes] })
    const { start, end } = part
    const range = { 'content-range': `bytes ${start}-${end - 1}/${size}` }
    return sendPieces(response, {
      status: 206,
      headers: { ...headers, ...range },
      pieces: [bytes.subarray(start, end)],
    })
  }

  /** The principal of the token is the one that is reported for, whatever the body has. */
  async #takeReport(
    request: IncomingMessage,
    response: ServerResponse,
    { channel, path, principal }: { channel: string | undefined; path: string; principal: Principal | undefined },
  ): Promise<void> {
    if (path !== REPORT_PATH) return sendStatus(response, 405, { allow: 'GET, HEAD', 'content-length': '0' })
    const body = await readWhole(request, MOST_REPORT_BYTES)
    if (body === undefined)
      return sendError(response, {
        status: 413,
        code: -32000,
        message: `A report has ${MOST_REPORT_BYTES} bytes at most`,
      })
    if (!this.#host.report(channel, principal?.id ?? '', body))
      return sendError(response, { status: 400, code: -32000, message: 'The body is no report of a follower' })
    return sendStatus(response, 204, {})
  }

  /** Sends an event with the entity tag of each checkpoint, the present one first. */
  #follow(
    request: IncomingMessage,
    response: ServerResponse,
    { channel, principal }: { channel: string | undefined; principal: Principal | undefined },
  ): void {
    if (request.method === 'HEAD') return sendStatus(response, 200, { 'content-type': 'text/event-stream' })
    const { streams, holderOf } = this.#site
    const refusal = refusalOfStream(response)
    if (refusal !== undefined) return sendError(response, { status: 503, code: -32000, message: refusal })
    const holder = holderOf(request, principal)
    if (!streams.hasRoomFor(holder)) return sendNoStream(response)
    const stream = new EventStream(response, {}, streams.pendingBytes)
    const watch = this.#host.watch(channel, {
      onCheckpoint: (note) => stream.send(JSON.stringify({ checkpoint: checkpointTag(Buffer.from(note)) })),
      onEnd: () => stream.end(),
    })
    stream.onClose(() => watch[Symbol.dispose]())
    streams.add(stream, () => {}, { holder, principal, view: channel ?? WHOLE })
  }

  #nothing(response: ServerResponse): void {
    sendError(response, { status: 404, code: -32000, message: this.#site.nothingHere })
  }
}

/** `undefined` if the body is longer. */
async function readWhole(request: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  return (await readBody(request, mostBytes, (bytes) => chunks.push(bytes))) ? Buffer.concat(chunks) : undefined
}

const BEHIND = 'This process of the hub has fewer entries of the channel than the client, and catches up'

const NOT_YET = 'The channel is not published yet'

/** The path of the signed head of the log, below the address of a channel. */
const CHECKPOINT_PATH = 'checkpoint'

/** The path of the events, below the address of a channel. */
const EVENTS_PATH = 'events'

/** The host returns the same value again for what many followers ask for. */
const ETAGS = new WeakMap<Uint8Array, string>()

function etagAt(path: string, bytes: Uint8Array): string {
  if (path === CHECKPOINT_PATH) return checkpointTag(bytes)
  const etag = ETAGS.get(bytes) ?? etagOf(hash('sha256', bytes, 'buffer'))
  ETAGS.set(bytes, etag)
  return etag
}

const EMPTY = new Uint8Array()

/** With the number of entries, so that a process of a hub sees from it that another one has served a newer checkpoint. */
function checkpointTag(note: Uint8Array): string {
  const [, size = ''] = Buffer.from(note).toString('utf8').split('\n', 2)
  return `"${size}.${hash('sha256', note, 'base64url')}"`
}

/** The greatest number of entries in the entity tags of checkpoints; 0 if there is none. */
function sizeIn(condition: string | undefined): number {
  const sizes = [...(condition ?? '').matchAll(/"(\d{1,15})\./g)].map(([, size]) => Number(size))
  return Math.max(0, ...sizes)
}

function etagOf(sha256: Buffer): string {
  return `"${sha256.toString('base64url')}"`
}

/** Everything but the checkpoint is what it is for ever. What depends on the caller must not be cached for others. */
function cachingOf(path: string, principal: Principal | undefined): string {
  const who = principal === undefined ? 'public' : 'private'
  return path === CHECKPOINT_PATH ? `${who}, no-cache` : `${who}, max-age=31536000, immutable`
}

function isAmong(condition: string | undefined, etag: string): boolean {
  return (
    condition?.trim() === '*' || (condition ?? '').split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
  )
}
