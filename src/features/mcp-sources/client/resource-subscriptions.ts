import type { JsonObject } from '../../../base/json-value.ts'
import { isMapping } from '../../../base/json-value.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import {
  NO_WATCH,
  isUnheard,
  noticeIn,
  type ChangeNotice,
  type Watch,
  type SubscriptionRequest,
} from './change-feed.ts'
import type { ServerStream } from './channel.ts'
import type { JsonRpcConnection } from './json-rpc-connection.ts'

/** The requested subscriptions and their limits. */
export interface Subscription {
  readonly wish: SubscriptionRequest
  /** The capabilities that the server declared; nothing else is requested. */
  readonly capabilities: JsonObject
  readonly requestMs: number
}

/**
 * Subscribes to a server of the legacy era: one `resources/subscribe` per URI, and the notifications for every session.
 */
export async function subscribeToResources(
  dialogue: JsonRpcConnection,
  { wish, capabilities, requestMs }: Subscription,
  heard: (notice: ChangeNotice) => void,
  signal: AbortSignal,
): Promise<Watch> {
  signal.throwIfAborted()
  const offered = isMapping(capabilities['resources']) ? capabilities['resources'] : {}
  const list = wish.list && offered['listChanged'] === true
  const uris = offered['subscribe'] === true ? wish.uris : []
  if (isUnheard({ list, uris })) return NO_WATCH
  const stream = await dialogue.channel.listen(signal)
  if (stream === undefined) {
    await probe(dialogue, requestMs, signal)
    return NO_WATCH
  }
  const watch = new Subscribed(dialogue, stream, { list, requestMs }, heard)
  try {
    await watch.add(uris, signal)
    if (!isUnheard(watch.honoured)) return watch
  } catch (error) {
    await watch[Symbol.asyncDispose]()
    throw error
  }
  await watch[Symbol.asyncDispose]()
  return NO_WATCH
}

/**
 * Pings the server. A server without a stream answers. A restarted one reports by 404 that the session is over; it may
 * have answered the stream request with the same 404 as a server without streams.
 */
async function probe(dialogue: JsonRpcConnection, requestMs: number, signal: AbortSignal): Promise<void> {
  await dialogue.ask('ping', {}, { totalMs: requestMs }, signal).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
  })
}

class Subscribed implements Watch {
  readonly ended: Promise<void>
  readonly #dialogue: JsonRpcConnection
  readonly #bounds: { readonly list: boolean; readonly requestMs: number }
  readonly #uris = new Set<string>()
  readonly #left = Promise.withResolvers<void>()

  constructor(
    dialogue: JsonRpcConnection,
    stream: ServerStream,
    bounds: { readonly list: boolean; readonly requestMs: number },
    heard: (notice: ChangeNotice) => void,
  ) {
    this.#dialogue = dialogue
    this.#bounds = bounds
    const forget = dialogue.hear((notification) => {
      const notice = noticeIn(notification, this.#uris, bounds.list)
      if (notice !== undefined) heard(notice)
    })
    this.ended = Promise.race([stream.ended, dialogue.ended, this.#left.promise]).finally(forget)
  }

  get honoured(): SubscriptionRequest {
    return { list: this.#bounds.list, uris: [...this.#uris] }
  }

  /**
   * Subscribes in batches. A server may refuse one URI and accept the next; after a request without an answer, no more
   * are sent.
   */
  async add(uris: readonly string[], signal: AbortSignal): Promise<void> {
    for (const some of inTurns(uris)) {
      const taken = await Promise.all(some.map((uri) => this.#ask('resources/subscribe', uri, signal)))
      for (const [at, uri] of some.entries()) if (taken[at] === true) this.#uris.add(uri)
      if (taken.includes(undefined)) return
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#left.resolve()
    await this.ended
    const signal = AbortSignal.timeout(this.#bounds.requestMs)
    for (const some of inTurns([...this.#uris])) {
      const left = await Promise.all(
        some.map((uri) => this.#ask('resources/unsubscribe', uri, signal).catch(() => undefined)),
      )
      if (left.includes(undefined)) return
    }
  }

  /** True if the server accepts; `undefined` if it does not answer. */
  async #ask(method: string, uri: string, signal: AbortSignal): Promise<boolean | undefined> {
    try {
      return (await this.#dialogue.ask(method, { uri }, { totalMs: this.#bounds.requestMs }, signal)).ok
    } catch (error) {
      if (error instanceof SyncError) return undefined
      throw error
    }
  }
}

function* inTurns(uris: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < uris.length; from += AT_ONCE) yield uris.slice(from, from + AT_ONCE)
}

/** The maximum number of concurrent subscription requests. */
const AT_ONCE = 8
