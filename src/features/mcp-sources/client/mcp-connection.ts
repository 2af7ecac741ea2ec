import type { JsonObject } from '../../../base/json-value.ts'
import { printable } from '../../../base/text/printable.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { shownValue } from '../../../sync/skill/contract/contract-value.ts'
import type { ConnectionOptions, McpAddress } from './address.ts'
import type { ChangeNotice, Watch, SubscriptionRequest } from './change-feed.ts'
import type { Channel } from './channel.ts'
import { withinDepth } from './depth-limit.ts'
import { discoverServer, initialize, type ServerInfo } from './handshake.ts'
import { HttpChannel } from './http-channel.ts'
import { JsonRpcConnection } from './json-rpc-connection.ts'
import { listenToServer } from './listen-stream.ts'
import type { Reply } from './message.ts'
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
