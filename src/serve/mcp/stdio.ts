import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, RequestId, Server, Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Caller, Era, Subscriptions } from './caller.ts'
import { buildServer } from './core.ts'
import { hasEraCode, withEraCode } from './era-code.ts'
import { eventsOf } from './events.ts'
import type { Events } from './events.ts'
import { idleListenOf, listenResult, narrowed } from './listen.ts'
import type { Serving } from './methods.ts'

/** One message of a client; a read of many files is many messages. */
const MAX_MESSAGE_BYTES = 2 ** 20

/** Serves one client over a pair of streams until it closes its end or the signal ends it. The first message decides the era. */
export async function serveStream(
  serving: Serving,
  input: Readable,
  output: Writable,
  signal: AbortSignal,
): Promise<void> {
  const wire = new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES })
  const wanted = new WantedUris()
  const transport = new EraTransport(wire, (message) => narrowed(message, serving.registry.catalog, wanted))
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
  }
}

function connectionServer(serving: Serving, era: Era, transport: EraTransport, wanted: WantedUris): Server {
  transport.era = era
  const caller: Caller = era === 'legacy' ? { era, subscriptions: wanted } : { era }
  const server = buildServer(serving, era, () => caller)
  const listening = serving.registry.listen((changes) => tell(server, wanted.among(eventsOf(changes))))
  server.onclose = () => listening[Symbol.dispose]()
  return server
}

/** A connection that breaks while it is told something ends by itself; there is nobody left to tell of it. */
function tell(server: Server, events: Events): void {
  const ignore = (): void => {}
  for (const uri of events.updated) void server.sendResourceUpdated({ uri }).catch(ignore)
  if (events.listChanged) void server.sendResourceListChanged().catch(ignore)
}

/** What the client subscribed or listens to. Which listen request a URI is for, the SDK's own entry knows. */
class WantedUris implements Subscriptions {
  readonly #byAsked = new Map<string, string>()

  subscribe(asked: string, canonical: string): void {
    this.#byAsked.set(asked, canonical)
  }

  unsubscribe(asked: string): void {
    this.#byAsked.delete(asked)
  }

  among(events: Events): Events {
    const updated = [...this.#byAsked].filter(([, canonical]) => events.updated.has(canonical)).map(([asked]) => asked)
    return { ...events, updated: new Set(updated) }
  }
}

/** Writes the error codes of the era, of which the SDK has one set for both, and ends listen requests that hear of nothing. */
class EraTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  onended: () => void = () => {}
  era: Era = 'legacy'
  readonly #wire: StdioServerTransport
  readonly #admit: (message: JSONRPCMessage) => JSONRPCMessage
  readonly #methods = new Map<RequestId, string>()

  constructor(wire: StdioServerTransport, admit: (message: JSONRPCMessage) => JSONRPCMessage) {
    this.#wire = wire
    this.#admit = admit
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message) => {
      if ('method' in message && 'id' in message && hasEraCode(message.method)) {
        this.#methods.set(message.id, message.method)
      }
      this.onmessage?.(this.#admit(message))
    }
    this.#wire.onerror = (error) => this.onerror?.(error)
    this.#wire.onclose = () => {
      this.onclose?.()
      this.onended()
    }
    await this.#wire.start()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#wire.send(this.#coded(message))
    const idle = idleListenOf(message)
    if (idle === undefined) return
    // The SDK's entry keeps it open over stdio: it is to forget it, and the client is to have its answer.
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: idle } })
    await this.#wire.send(listenResult(idle))
  }

  async close(): Promise<void> {
    await this.#wire.close()
  }

  #coded(message: JSONRPCMessage): JSONRPCMessage {
    if ('method' in message || message.id === undefined) return message
    const method = this.#methods.get(message.id) ?? ''
    this.#methods.delete(message.id)
    return withEraCode(message, this.era, method)
  }
}
