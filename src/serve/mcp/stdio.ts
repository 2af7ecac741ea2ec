import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, RequestId, Server, Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Caller, Era, Subscriptions } from './caller.ts'
import { buildServer } from './core.ts'
import { withEraCode } from './era-code.ts'
import { eventsOf } from './events.ts'
import type { Events } from './events.ts'
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
  const transport = new EraTransport(wire)
  const ended = Promise.withResolvers<void>()
  transport.onended = () => ended.resolve()
  const handle = serveStdio(({ era }) => connectionServer(serving, era, transport), { transport })
  const stop = (): void => void handle.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) await handle.close()
    await ended.promise
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function connectionServer(serving: Serving, era: Era, transport: EraTransport): Server {
  transport.era = era
  const wanted = new WantedUris()
  const caller: Caller = era === 'legacy' ? { era, subscriptions: wanted } : { era }
  const server = buildServer(serving, era, () => caller)
  const listening = serving.registry.listen((changes) => tell(server, wanted.among(eventsOf(changes), era)))
  server.onclose = () => listening[Symbol.dispose]()
  return server
}

/** A connection that breaks while it is told something ends by itself; there is nobody left to tell of it. */
function tell(server: Server, events: Events): void {
  const ignore = (): void => {}
  for (const uri of events.updated) void server.sendResourceUpdated({ uri }).catch(ignore)
  if (events.listChanged) void server.sendResourceListChanged().catch(ignore)
}

/** The subscriptions of a 2025-era client. Those of the modern era are kept, and filtered by, the SDK's own entry. */
class WantedUris implements Subscriptions {
  readonly #byAsked = new Map<string, string>()

  subscribe(asked: string, canonical: string): void {
    this.#byAsked.set(asked, canonical)
  }

  unsubscribe(asked: string): void {
    this.#byAsked.delete(asked)
  }

  among(events: Events, era: Era): Events {
    if (era === 'modern') return events
    const updated = [...this.#byAsked].filter(([, canonical]) => events.updated.has(canonical)).map(([asked]) => asked)
    return { ...events, updated: new Set(updated) }
  }
}

/** Writes the error codes of the era; the SDK has one set for both. */
class EraTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  onended: () => void = () => {}
  era: Era = 'legacy'
  readonly #wire: StdioServerTransport
  readonly #methods = new Map<RequestId, string>()

  constructor(wire: StdioServerTransport) {
    this.#wire = wire
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#methods.set(message.id, message.method)
      this.onmessage?.(message)
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
