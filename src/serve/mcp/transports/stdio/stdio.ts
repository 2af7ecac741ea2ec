import { pipeline, Transform } from 'node:stream'
import type { Readable, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { JSONRPCMessage, JSONRPCRequest, RequestId, Server, Transport } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { traceIds } from '../../../../base/trace-context.ts'
import { answeredErrorOf, auditMessage } from '../../core/audit-message.ts'
import type { Tell } from '../../core/audit-message.ts'
import type { Serving } from '../../core/methods.ts'
import { buildServer } from '../../core/sdk-server.ts'
import { listenForEvents } from '../../events/events.ts'
import type { Events } from '../../events/events.ts'
import { MAX_SUBSCRIPTIONS } from '../../rpc/caller.ts'
import type { Caller, CallerSubscriptions, Era } from '../../rpc/caller.ts'
import { clientNameIn } from '../../rpc/client-name.ts'
import { listenResult } from '../../rpc/listen-result.ts'
import { RpcError, tooManySubscriptions } from '../../rpc/rpc-error.ts'
import { traceIn } from '../../rpc/trace.ts'
import { prepareFor } from '../../tools/prepare.ts'
import { announcedBytes } from '../../tools/response-size.ts'
import { withoutBatches } from './batch-lines.ts'
import { cancelledBy, idleListenOf, narrowListen } from './listen.ts'
import type { Listens } from './listen.ts'
import { StdioInflow } from './stdio-inflow.ts'
import { StdioRequests } from './stdio-requests.ts'

/** Limit for one client message; a read of many files is many messages. */
const MAX_MESSAGE_BYTES = 2 ** 20

/** A call can wait two seconds for a newer catalog. A signal ends the server sooner. */
const GRACE_MS = 3_000

/** The streams of one client. */
export interface StdioStreams {
  readonly input: Readable
  readonly output: Writable
  /** The longest time for answers after the client closed its end (default: 3 s). */
  readonly graceMs?: number | undefined
}

/**
 * Serves one client over a pair of streams until the client closes its end or the signal aborts. Requests sent before
 * the close are answered within the grace period. The first message decides the era.
 */
export async function serveStream(
  serving: Serving,
  { input, output, graceMs = GRACE_MS }: StdioStreams,
  signal: AbortSignal,
): Promise<void> {
  const wanted = new WantedUris()
  const held = endingAfter(() => transport.settled(), graceMs)
  const wire = new StdioServerTransport(held, output, { maxBufferSize: MAX_MESSAGE_BYTES })
  const transport = new EraTransport(wire, held, serving, wanted)
  // The transport learns of every end of the input, errors included.
  pipeline(input, withoutBatches(MAX_MESSAGE_BYTES), held, () => {})
  const ended = Promise.withResolvers<void>()
  transport.onended = () => ended.resolve()
  const handle = serveStdio(({ era }) => connectionServer(serving, era, transport, wanted), { transport })
  const stop = (): void => void handle.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) await handle.close()
    await ended.promise
  } finally {
    signal.removeEventListener('abort', stop)
    held.destroy()
  }
}

function connectionServer(serving: Serving, era: Era, transport: EraTransport, wanted: WantedUris): Server {
  transport.era = era
  const caller: Caller = era === 'legacy' ? { era, subscriptions: wanted } : { era }
  const server = buildServer(serving, era, () => caller)
  const listening = listenForEvents(serving, (events) => tell(server, wanted.among(events)))
  server.onclose = () => listening[Symbol.dispose]()
  return server
}

/** Sends notifications. Errors are ignored: a broken connection ends by itself, and its client is gone. */
function tell(server: Server, events: Events): void {
  const ignore = (): void => {}
  for (const uri of events.updated) void server.sendResourceUpdated({ uri }).catch(ignore)
  if (events.lists.some((part) => part !== 'prompts')) void server.sendResourceListChanged().catch(ignore)
  if (events.lists.includes('prompts')) void server.sendPromptListChanged().catch(ignore)
}

/** The URIs that the client subscribed or listens to. The SDK's entry knows which listen request a URI belongs to. */
class WantedUris implements CallerSubscriptions, Listens {
  readonly #subscribed = new Map<string, string>()
  readonly #byListen = new Map<RequestId, ReadonlyMap<string, string>>()

  subscribe(asked: string, canonical: string): void {
    if (!this.#subscribed.has(asked) && this.#size >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
    this.#subscribed.set(asked, canonical)
  }

  unsubscribe(asked: string): void {
    this.#subscribed.delete(asked)
  }

  listen(id: RequestId, uris: ReadonlyMap<string, string>): void {
    const replaced = this.#byListen.get(id)?.size ?? 0
    if (this.#size - replaced + uris.size > MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
    this.#byListen.set(id, uris)
  }

  forget(id: RequestId): void {
    this.#byListen.delete(id)
  }

  among(events: Events): Events {
    const wanted = [this.#subscribed, ...this.#byListen.values()].flatMap((uris) => Array.from(uris))
    const updated = wanted.filter(([, canonical]) => events.updated.has(canonical)).map(([asked]) => asked)
    return { ...events, updated: new Set(updated) }
  }

  get #size(): number {
    return [...this.#byListen.values()].reduce((sum, uris) => sum + uris.size, this.#subscribed.size)
  }
}

/**
 * Writes the error codes of the era, because the SDK has one set for both. Ends listen requests with nothing to watch.
 */
class EraTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  onended: () => void = () => {}
  era: Era = 'legacy'
  #lastWritten: Promise<void> = Promise.resolve()
  readonly #wire: StdioServerTransport
  readonly #serving: Serving
  readonly #listens: Listens
  readonly #requests: StdioRequests
  readonly #input: Readable
  readonly #inflow: StdioInflow

  constructor(wire: StdioServerTransport, input: Readable, serving: Serving, listens: Listens) {
    this.#wire = wire
    this.#input = input
    const { registry, forms } = serving
    this.#inflow = new StdioInflow(
      input,
      (message) => announcedBytes(registry.catalog, forms, message),
      (message) => prepareFor(registry.catalog, forms, message),
    )
    this.#serving = serving
    const audit = new StdioAudit(serving)
    this.#requests = new StdioRequests((request) => audit.request(request))
    this.#listens = listens
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message) => this.#receive(message)
    this.#wire.onerror = (error) => this.onerror?.(error)
    this.#wire.onclose = () => {
      this.#requests.end()
      this.#inflow.clear()
      this.onclose?.()
      this.onended()
    }
    await this.#wire.start()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const idle = idleListenOf(message)
    if (!('method' in message) && message.id !== undefined) this.#listens.forget(message.id)
    const sent = this.#requests.sent(message, this.era)
    if (sent !== undefined) await this.#write(sent).finally(() => this.#end(message))
    if (idle === undefined) return
    // The SDK's entry keeps such a request open over stdio. It must forget the request, and the client must get its
    // response.
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: idle } })
    await this.send(listenResult(idle))
  }

  /** Resolves as soon as all requests are answered and the responses are written. */
  async settled(): Promise<void> {
    do {
      await this.#requests.settled()
      await this.#lastWritten
      // Messages that waited for room are read after that.
      await turn()
    } while (this.#inflow.isHolding || this.#input.readableLength > 0 || this.#requests.areWaiting)
  }

  #end(message: JSONRPCMessage): void {
    if ('method' in message || message.id === undefined) return
    this.#inflow.end(message.id, (held) => this.#take(held))
  }

  /**
   * Writes one message at a time: each write that waits for a slow client would add its own listeners to the stream.
   */
  async #write(message: JSONRPCMessage): Promise<void> {
    const written = this.#lastWritten.then(() => this.#wire.send(message))
    // The next write waits for the end of this one, not for its success.
    this.#lastWritten = written.catch(() => {})
    return written
  }

  async close(): Promise<void> {
    await this.#wire.close()
  }

  #receive(message: JSONRPCMessage): void {
    if (!this.#inflow.hold(message, (held) => this.#take(held))) this.#take(message)
  }

  #take(message: JSONRPCMessage): void {
    const received = this.#requests.received(message)
    if (received === undefined) return
    if ('method' in received && 'id' in received) this.#inflow.begin(received.id, received)
    // A cancelled request is never answered.
    const cancelled = cancelledBy(received)
    if (cancelled !== undefined) {
      this.#listens.forget(cancelled)
      this.#inflow.end(cancelled, (held) => this.#take(held))
    }
    const admitted = this.#admit(received)
    if (admitted !== undefined) this.onmessage?.(admitted)
  }

  #admit(message: JSONRPCMessage): JSONRPCMessage | undefined {
    try {
      return narrowListen(message, this.#serving, this.#listens)
    } catch (error) {
      if (!(error instanceof RpcError) || !('id' in message)) throw error
      const refusal = { code: error.code, message: error.message }
      // If the connection breaks before the response, there is no client to notify.
      void this.send({ jsonrpc: '2.0', id: message.id, error: refusal }).catch(() => {})
      return undefined
    }
  }
}

/**
 * Passes its input through, but delays the end until the work settles, for at most `mostMs`. The SDK treats the end of
 * its input as the end of the connection, and drops the requests in flight. The work must not reject.
 */
function endingAfter(work: () => Promise<void>, mostMs: number): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush(done) {
      // By then the reader has received the last chunk, and `work` knows which requests are open.
      setImmediate(() => void atMost(mostMs, work(), done))
    },
  })
}

async function atMost(ms: number, work: Promise<void>, done: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  void work.then(resolve)
  await promise
  clearTimeout(timer)
  done()
}

/** Records the requests of one stdio client, with the name that the client gives itself, and counts the answers. */
class StdioAudit {
  readonly #serving: Recorded
  #client: string | undefined

  constructor(serving: Recorded) {
    this.#serving = serving
  }

  /** Works like `auditMessage`. */
  request({ method, params }: JSONRPCRequest): Tell {
    this.#client = clientNameIn(params) ?? this.#client
    const client = this.#client
    const asker = { ...(client !== undefined && { client }), ...traceIds(traceIn(params)) }
    const tell = auditMessage(this.#serving, { method, params }, asker)
    const { use } = this.#serving
    if (use === undefined) return tell
    let isTold = false
    return (end) => {
      tell(end)
      if (isTold) return
      isTold = true
      if ('refused' in end) return
      const error = answeredErrorOf(end)
      use({ method, params, serving: this.#serving, client, principal: undefined, error })
    }
  }
}

/** The parts of `Serving` that record and count. */
type Recorded = Pick<Serving, 'audit' | 'registry' | 'forms' | 'use' | 'view'>
