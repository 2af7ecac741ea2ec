import type { JsonObject } from '../../../base/json-value.ts'
import { isMapping } from '../../../base/json-value.ts'
import type { SyncError } from '../../../sync/model/sync-error.ts'
import { AnswerLate, Unanswered, type Channel } from './channel.ts'
import {
  METHOD_NOT_FOUND,
  readMessage,
  type Incoming,
  type Notification,
  type Outgoing,
  type Reply,
} from './message.ts'

/** A pending request. */
export interface Begun {
  readonly id: number
  readonly answer: Promise<Reply>
  /** Cancels the request, with the reason. */
  takeBack(why: unknown): void
}

/**
 * JSON-RPC over one channel. It matches answers with requests by id, and answers the server's own requests with "method
 * not found". Results are not validated here: one bad entry must not spoil a page.
 */
export class JsonRpcConnection implements AsyncDisposable {
  readonly channel: Channel
  readonly ended: Promise<void>
  readonly #end = Promise.withResolvers<void>()
  readonly #waiting = new Map<unknown, PromiseWithResolvers<Reply>>()
  /** Called by request when the first part of its answer comes. */
  readonly #onFirst = new Map<unknown, () => void>()
  readonly #listeners = new Set<(notice: Notification) => void>()
  #envelope: JsonObject | undefined
  #lost: SyncError | undefined
  #lastId = 0
  #answering = 0
  #silence: Silence = { words: 0, length: 0 }

  constructor(channel: Channel) {
    this.channel = channel
    this.ended = this.#end.promise
    channel.hear({
      heard: (raw) => this.#heard(readMessage(raw)),
      came: (id) => this.#came(id),
      failed: (id, why) => this.#waiting.get(id)?.reject(why),
      lost: (why) => this.#close(why),
    })
  }

  /** Sets the metadata of all further requests; `undefined` in the legacy era. */
  wrap(envelope: JsonObject | undefined): void {
    this.#envelope = envelope
  }

  /**
   * Sends a request and waits for the first part of its answer, and for all of it, until the timeouts. Rejects with a
   * `SyncError`, or with the reason of the signal.
   */
  async ask(
    method: string,
    params: JsonObject,
    { totalMs, firstMs = totalMs }: Patience,
    signal: AbortSignal,
  ): Promise<Reply> {
    signal.throwIfAborted()
    const before = this.#silence
    const begun = this.begin(method, params)
    const leave = () => begun.takeBack(signal.reason)
    const late = (ms: number): AnswerLate => {
      const { said, fix } = this.channel.silence
      return new AnswerLate(
        `Cannot reach "${this.channel.name}": no answer to "${method}" within ${ms} ms${said}`,
        ms,
        {
          fix,
        },
      )
    }
    const first = setTimeout(() => this.#giveUp(begun, before, late(firstMs)), firstMs)
    const total = setTimeout(() => this.#giveUp(begun, before, late(totalMs)), totalMs)
    this.#onFirst.set(begun.id, () => clearTimeout(first))
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await begun.answer
    } finally {
      clearTimeout(first)
      clearTimeout(total)
      this.#onFirst.delete(begun.id)
      signal.removeEventListener('abort', leave)
    }
  }

  /** Sends a request; the caller decides how long to wait. */
  begin(method: string, params: JsonObject): Begun {
    this.#lastId += 1
    const id = this.#lastId
    const waiting = Promise.withResolvers<Reply>()
    const exchange = new AbortController()
    const answer = waiting.promise.finally(() => {
      this.#waiting.delete(id)
      exchange.abort()
    })
    // Prevents an unhandled rejection: a caller may use only the end of the request.
    answer.catch(() => {})
    this.#waiting.set(id, waiting)
    this.#ask({ jsonrpc: '2.0', id, method, params: this.#wrap(params) }, waiting, exchange.signal)
    return { id, answer, takeBack: (why) => this.#takeBack(id, method, why) }
  }

  /** Sends a notification. */
  async tell(method: string, params: JsonObject, signal: AbortSignal): Promise<void> {
    await this.channel.send({ jsonrpc: '2.0', method, params: this.#wrap(params) }, { signal })
  }

  /** Subscribes to the server's notifications, until the returned function is called. */
  hear(listener: (notice: Notification) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close(new Unanswered(`Cannot reach "${this.channel.name}": the connection is closed`))
    await this.channel[Symbol.asyncDispose]()
  }

  #ask(request: Outgoing, waiting: PromiseWithResolvers<Reply>, signal: AbortSignal): void {
    if (this.#lost !== undefined) return waiting.reject(this.#lost)
    const dry = () => waiting.reject(new Unanswered(`Cannot reach "${this.channel.name}": it ends without an answer`))
    this.channel.send(request, { signal, dry }).catch(waiting.reject)
  }

  /**
   * Gives up a request after its timeout. A program may fail to answer single methods. A program that has stopped
   * answering at all must be restarted.
   */
  #giveUp(begun: Begun, before: Silence, late: AnswerLate): void {
    begun.takeBack(late)
    // The rest of an answer that does not end holds up all others.
    const lost = new Unanswered(late.message, { fix: late.fix })
    if (this.channel.isAmid) return this.#close(lost)
    if (before.words !== this.#silence.words) return
    // Concurrent requests that time out together count as one silence.
    const length = Math.max(this.#silence.length, before.length + 1)
    this.#silence = { ...before, length }
    if (length >= MOST_UNHEARD && !this.channel.isByRequest) this.#close(lost)
  }

  #takeBack(id: number, method: string, why: unknown): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    waiting.reject(why)
    const isByEnd = this.#envelope !== undefined && this.channel.isByRequest
    if (isByEnd || method === 'initialize' || this.#lost !== undefined) return
    // Best effort: nothing here depends on its delivery.
    this.tell('notifications/cancelled', { requestId: id, reason: 'not wanted' }, unending()).catch(() => {})
  }

  #wrap(params: JsonObject): JsonObject {
    if (this.#envelope === undefined) return params
    return { ...params, _meta: { ...this.#envelope, ...(isMapping(params['_meta']) && params['_meta']) } }
  }

  #came(id: unknown): void {
    for (const [asked, onFirst] of this.#onFirst) if (id === undefined || id === asked) onFirst()
  }

  #heard(message: Incoming | undefined): void {
    this.#silence = { words: this.#silence.words + 1, length: 0 }
    switch (message?.kind) {
      case 'answer':
        return this.#waiting.get(message.id)?.resolve(message.reply)
      case 'request':
        return this.#refuse(message.id, message.method)
      case 'notice':
        return this.#listeners.forEach((listener) => listener(message.notice))
      case undefined:
    }
  }

  #refuse(id: string | number, method: string): void {
    // The modern era has no requests from servers. The limit keeps a flood of requests from becoming a flood of
    // answers.
    if (this.#envelope !== undefined || this.#answering >= ANSWERING || this.#lost !== undefined) return
    this.#answering += 1
    const answer =
      method === 'ping' ? { result: {} } : { error: { code: METHOD_NOT_FOUND, message: 'Method not found' } }
    this.channel
      .send({ jsonrpc: '2.0', id, ...answer }, { signal: unending() })
      .catch(() => {})
      .finally(() => (this.#answering -= 1))
  }

  #close(why: SyncError): void {
    if (this.#lost !== undefined) return
    this.#lost = why
    for (const waiting of this.#waiting.values()) waiting.reject(why)
    this.#listeners.clear()
    this.#end.resolve()
  }
}

/** The timeouts for a whole answer, and for its first part. */
interface Patience {
  readonly totalMs: number
  readonly firstMs?: number
}

/** The channel bounds messages that are sent without waiting. */
function unending(): AbortSignal {
  return new AbortController().signal
}

/**
 * `words`: the number of received messages. `length`: the number of timeouts since the last message; concurrent ones
 * count once.
 */
interface Silence {
  readonly words: number
  readonly length: number
}

const MOST_UNHEARD = 3

/** The maximum number of concurrent answers to the server. */
const ANSWERING = 16
