import type { JsonObject } from '../../../../base/json-value.ts'
import { isMapping } from '../../../../base/json-value.ts'
import type { SyncError } from '../../../model/sync-error.ts'
import { Unanswered, type Channel } from './channel.ts'
import {
  METHOD_NOT_FOUND,
  readMessage,
  type Incoming,
  type Notification,
  type Outgoing,
  type Reply,
} from './message.ts'

/** A request on its way. */
export interface Begun {
  readonly id: number
  readonly answer: Promise<Reply>
  /** The answer is no longer wanted, for this reason. */
  takeBack(why: unknown): void
}

/**
 * JSON-RPC over one channel: matches answers with requests by their ids, and tells a server that asks something of us that
 * we know no such method. What is in a result is not looked at: one bad entry is to spoil no page.
 */
export class Dialogue implements AsyncDisposable {
  readonly channel: Channel
  readonly ended: Promise<void>
  readonly #end = Promise.withResolvers<void>()
  readonly #waiting = new Map<unknown, PromiseWithResolvers<Reply>>()
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
      failed: (id, why) => this.#waiting.get(id)?.reject(why),
      lost: (why) => this.#close(why),
    })
  }

  /** What every request carries from now on: undefined on the legacy era. */
  wrap(envelope: JsonObject | undefined): void {
    this.#envelope = envelope
  }

  /** Asks, and waits for the answer so long and no longer. Rejects with a `SyncError`, or with the reason of the signal. */
  async ask(method: string, params: JsonObject, timeoutMs: number, signal: AbortSignal): Promise<Reply> {
    signal.throwIfAborted()
    const before = this.#silence
    const begun = this.begin(method, params)
    const leave = () => begun.takeBack(signal.reason)
    const late = `Cannot reach "${this.channel.name}": no answer to "${method}" within ${timeoutMs} ms`
    const timer = setTimeout(() => this.#giveUp(begun, before, late), timeoutMs)
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await begun.answer
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    }
  }

  /** Asks, and leaves it to the caller how long to wait. */
  begin(method: string, params: JsonObject): Begun {
    this.#lastId += 1
    const id = this.#lastId
    const waiting = Promise.withResolvers<Reply>()
    const exchange = new AbortController()
    const answer = waiting.promise.finally(() => {
      this.#waiting.delete(id)
      exchange.abort()
    })
    // Who began it may only want to know how it ends.
    answer.catch(() => {})
    this.#waiting.set(id, waiting)
    this.#ask({ jsonrpc: '2.0', id, method, params: this.#wrapped(params) }, waiting, exchange.signal)
    return { id, answer, takeBack: (why) => this.#takeBack(id, method, why) }
  }

  /** Says something that is not answered. */
  async tell(method: string, params: JsonObject, signal: AbortSignal): Promise<void> {
    await this.channel.send({ jsonrpc: '2.0', method, params: this.#wrapped(params) }, { signal })
  }

  /** Hears what the server tells by itself, until the returned function is called. */
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

  /** A program may know no answer to one method or another. One that says nothing at all any more has to be started anew. */
  #giveUp(begun: Begun, before: Silence, late: string): void {
    begun.takeBack(new Unanswered(late))
    if (before.words !== this.#silence.words) return
    // Those that waited at the same time were met by one silence.
    const length = Math.max(this.#silence.length, before.length + 1)
    this.#silence = { ...before, length }
    if (length >= MOST_UNHEARD && !this.channel.isByRequest) this.#close(new Unanswered(late))
  }

  #takeBack(id: number, method: string, why: unknown): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    waiting.reject(why)
    const isByEnd = this.#envelope !== undefined && this.channel.isByRequest
    if (isByEnd || method === 'initialize' || this.#lost !== undefined) return
    // Best effort: whether the server hears of it changes nothing here.
    this.tell('notifications/cancelled', { requestId: id, reason: 'not wanted' }, unending()).catch(() => {})
  }

  #wrapped(params: JsonObject): JsonObject {
    if (this.#envelope === undefined) return params
    return { ...params, _meta: { ...this.#envelope, ...(isMapping(params['_meta']) && params['_meta']) } }
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
    // The modern era has no requests of servers, and a flood of them is not to become one of answers.
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

/** What is sent without waiting for it is bounded by the channel. */
function unending(): AbortSignal {
  return new AbortController().signal
}

/** How many messages came, and how many requests were given up since, each of them sent after the one before was. */
interface Silence {
  readonly words: number
  readonly length: number
}

const MOST_UNHEARD = 3

/** Answers to the server that may be on their way at once. */
const ANSWERING = 16
