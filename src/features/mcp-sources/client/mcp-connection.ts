import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../../base/json-value.ts'
import { isMapping, isTexts } from '../../../base/json-value.ts'
import { printable } from '../../../base/text/printable.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import type { ConnectionOptions, HttpAddress, McpAddress } from './address.ts'
import type { ChangeNotice, SubscriptionRequest, Watch } from './change-feed.ts'
import { isUnheard, NO_WATCH, noticeIn } from './change-feed.ts'
import type { Channel, ChannelListener, Sending, ServerStream } from './channel.ts'
import { Unanswered } from './channel.ts'
import { withinDepth } from './depth-limit.ts'
import { discoverServer, initialize } from './handshake.ts'
import type { ServerInfo } from './handshake.ts'
import { HttpFetch } from './http-fetch.ts'
import { JsonRpcConnection } from './json-rpc-connection.ts'
import type { Begun } from './json-rpc-connection.ts'
import type { Notification, Outgoing, Reply } from './message.ts'
import { ProgramChannel } from './program-channel.ts'
import { subscribeToResources } from './resource-subscriptions.ts'

/**
 * A connection to one MCP server, in either era of the protocol. Results are returned as received, unvalidated;
 * requests from the server are refused. Every wait and every answer is bounded.
 */
export class McpConnection implements AsyncDisposable {
  readonly greeting: ServerInfo
  readonly #dialogue: JsonRpcConnection
  readonly #options: ConnectionOptions

  private constructor(greeting: ServerInfo, dialogue: JsonRpcConnection, options: ConnectionOptions) {
    this.greeting = greeting
    this.#dialogue = dialogue
    this.#options = options
  }

  static async open(address: McpAddress, options: ConnectionOptions, signal: AbortSignal): Promise<McpConnection> {
    signal.throwIfAborted()
    const [greeting, dialogue] = await greet(address, options, signal)
    return new McpConnection(greeting, dialogue, options)
  }

  /** Resolves if the connection is lost or closed: the program ended, or the session is over. */
  get ended(): Promise<void> {
    return this.#dialogue.ended
  }

  /** Sends one request. Rejects with a `SyncError` if no usable answer came, or with the reason of the signal. */
  async request(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    totalMs = this.#options.limits.requestMs,
    firstMs = totalMs,
  ): Promise<Reply> {
    const reply = await this.#dialogue.ask(method, params, { firstMs, totalMs }, signal)
    if (reply.ok)
      expectComplete(reply.result, `Cannot use the answer of "${this.#dialogue.channel.name}" to "${method}"`)
    return reply
  }

  /** Subscribes to the wished notifications. A server without notifications is no error: it honors nothing. */
  async watch(wish: SubscriptionRequest, heard: (notice: ChangeNotice) => void, signal: AbortSignal): Promise<Watch> {
    const { requestMs } = this.#options.limits
    const { era, capabilities } = this.greeting
    if (era === 'modern') return listenToServer(this.#dialogue, { wish, requestMs }, heard, signal)
    return subscribeToResources(this.#dialogue, { wish, capabilities, requestMs }, heard, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dialogue[Symbol.asyncDispose]()
  }
}

async function greet(
  address: McpAddress,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<readonly [ServerInfo, JsonRpcConnection]> {
  const { limits } = options
  const dialogue = new JsonRpcConnection(await channelTo(address, options))
  try {
    const found = await discoverServer(dialogue, options, signal)
    if (found !== 'older' && found !== 'mute') return [found, dialogue]
    // The state of a program after a message that it did not understand is unknown, so it is restarted.
    if (found === 'older' || address.kind === 'http') {
      return [await initialize(dialogue, options, limits.connectMs, signal), dialogue]
    }
  } catch (error) {
    await dialogue[Symbol.asyncDispose]()
    throw error
  }
  await dialogue[Symbol.asyncDispose]()
  return anew(address, options, signal)
}

async function anew(
  address: McpAddress,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<readonly [ServerInfo, JsonRpcConnection]> {
  signal.throwIfAborted()
  const dialogue = new JsonRpcConnection(await channelTo(address, options))
  try {
    // A program may start slowly, as one that is fetched first: its silence proves nothing more than that.
    return [await initialize(dialogue, options, options.limits.requestMs, signal), dialogue]
  } catch (error) {
    await dialogue[Symbol.asyncDispose]()
    throw error
  }
}

function channelTo(address: McpAddress, options: ConnectionOptions): Promise<Channel> {
  switch (address.kind) {
    case 'http':
      return HttpChannel.open(address, options)
    case 'program':
      return ProgramChannel.open(address, options)
  }
}

/** Throws unless the result is complete; a result without a type is. No user is present to give a server more input. */
function expectComplete(result: JsonObject, what: string): void {
  const { resultType } = result
  if (resultType === undefined || resultType === 'complete') return
  if (resultType === 'input_required') {
    throw new SyncError('unsupported', `${what}: it requests input first, which skillsyncd does not give`)
  }
  throw new SyncError('unsupported', `${what}: its type is ${printable(shownValue(withinDepth(resultType)))}`)
}

/** A channel to a server over HTTP. The transport is the SDK's, loaded on first use; the HTTP exchange is our own. */
class HttpChannel implements Channel {
  readonly name: string
  readonly isByRequest = true
  readonly isAmid = false
  readonly silence = { said: '' }
  readonly #fetch: HttpFetch
  readonly #transport: StreamableHTTPClientTransport

  private constructor(name: string, fetch: HttpFetch, transport: StreamableHTTPClientTransport) {
    this.name = name
    this.#fetch = fetch
    this.#transport = transport
  }

  static async open({ url }: HttpAddress, options: ConnectionOptions): Promise<HttpChannel> {
    const { StreamableHTTPClientTransport: Transport } = await import('@modelcontextprotocol/client')
    const { origin, pathname } = new URL(url)
    // The part after the path may hold a secret.
    const name = origin + pathname
    const fetch = new HttpFetch(name, options)
    const transport = new Transport(new URL(url), {
      fetch: (to, init) => fetch.fetch(String(to), init ?? {}),
      reconnectionScheduler: soon,
    })
    await transport.start()
    return new HttpChannel(name, fetch, transport)
  }

  hear(ears: ChannelListener): void {
    this.#transport.onmessage = (message) => ears.heard(message)
    this.#fetch.hear(ears)
  }

  async send(message: Outgoing, { signal, dry }: Sending): Promise<void> {
    try {
      const options = dry === undefined ? { requestSignal: signal } : { requestSignal: signal, onRequestStreamEnd: dry }
      await this.#transport.send(message, options)
    } catch (cause) {
      throw this.#failure(cause)
    }
  }

  speak(version: string): void {
    this.#transport.setProtocolVersion(version)
  }

  async listen(signal: AbortSignal): Promise<ServerStream | undefined> {
    const stream = await this.#fetch.streams.present
    if (stream !== undefined) return stream
    signal.throwIfAborted()
    // Without a last event id this opens a new stream. A server without such a stream is no error.
    await this.#transport.resumeStream('').catch(() => {})
    return this.#fetch.streams.present
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A server that misses the end of the session finds out by itself.
    await this.#transport.terminateSession().catch(() => {})
    await this.#transport.close()
  }

  /** Converts an error of the SDK. Errors of our own code pass through it unchanged. */
  #failure(cause: unknown): unknown {
    if (cause instanceof SyncError || (cause instanceof Error && cause.name === 'AbortError')) return cause
    return new Unanswered(`Cannot reach "${this.name}": its answer is not an MCP message`, { cause })
  }
}

/**
 * Limits the delay before an interrupted answer is resumed. The server sets the delay, which may be zero or extremely
 * long.
 */
function soon(reconnect: () => void, afterMs: number): () => void {
  const timer = setTimeout(reconnect, Math.min(Math.max(afterMs, 1_000), 30_000))
  return () => clearTimeout(timer)
}

/** Subscribes to a server of the modern era with one `subscriptions/listen`. */
async function listenToServer(
  dialogue: JsonRpcConnection,
  { wish, requestMs }: { readonly wish: SubscriptionRequest; readonly requestMs: number },
  heard: (notice: ChangeNotice) => void,
  signal: AbortSignal,
): Promise<Watch> {
  signal.throwIfAborted()
  if (isUnheard(wish)) return NO_WATCH
  const listening = new Listening(dialogue, wish, heard)
  const leave = () => listening.close()
  const timer = setTimeout(leave, requestMs)
  signal.addEventListener('abort', leave, { once: true })
  try {
    const isHonoured = await listening.acknowledged
    signal.throwIfAborted()
    if (isHonoured) return listening
    listening.close()
    return NO_WATCH
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

class Listening implements Watch {
  /** True if the server accepted any notification. */
  readonly acknowledged: Promise<boolean>
  readonly ended: Promise<void>
  readonly #acknowledged = Promise.withResolvers<boolean>()
  readonly #begun: Begun
  readonly #heard: (notice: ChangeNotice) => void
  readonly #wish: SubscriptionRequest
  #honoured: SubscriptionRequest = { list: false, uris: [] }
  #uris: ReadonlySet<string> = new Set()

  constructor(dialogue: JsonRpcConnection, wish: SubscriptionRequest, heard: (notice: ChangeNotice) => void) {
    this.acknowledged = this.#acknowledged.promise
    this.#wish = wish
    this.#heard = heard
    const { list, uris } = wish
    const notifications = { ...(list && { resourcesListChanged: true }), resourceSubscriptions: uris }
    const forget = dialogue.hear((notice) => this.#take(notice))
    this.#begun = dialogue.begin('subscriptions/listen', { notifications })
    const close = () => {
      forget()
      this.#acknowledged.resolve(false)
    }
    // An answer ends the subscription, and so does a failure.
    this.ended = this.#begun.answer.then(close, close)
  }

  get honoured(): SubscriptionRequest {
    return this.#honoured
  }

  close(): void {
    this.#begun.takeBack(new Error('The listener left'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    await this.ended
  }

  #take(notice: Notification): void {
    const meta = notice.params['_meta']
    if (!isMapping(meta) || meta['io.modelcontextprotocol/subscriptionId'] !== this.#begun.id) return
    if (notice.method === 'notifications/subscriptions/acknowledged') return this.#agree(notice.params['notifications'])
    const told = noticeIn(notice, this.#uris, this.#honoured.list)
    if (told !== undefined) this.#heard(told)
  }

  /** Accepts the wished notifications that the server names too. */
  #agree(named: unknown): void {
    const { resourcesListChanged, resourceSubscriptions } = isMapping(named) ? named : {}
    const agreed = new Set(isTexts(resourceSubscriptions) ? resourceSubscriptions : [])
    this.#uris = new Set(this.#wish.uris.filter((uri) => agreed.has(uri)))
    this.#honoured = { list: this.#wish.list && resourcesListChanged === true, uris: [...this.#uris] }
    this.#acknowledged.resolve(!isUnheard(this.#honoured))
  }
}
