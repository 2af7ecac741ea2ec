import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'

/** A client that is subscribed to some resources. */
export interface Subscriber extends AsyncDisposable {
  /** The protocol revision it speaks. */
  readonly protocol: string
  /** The next notification to come; call it before what is to cause one. */
  next(): Promise<Notification>
}

export interface Notification {
  readonly uri: string
  /** When it came, in milliseconds of `performance.now()`. */
  readonly atMs: number
}

const INFO = { name: 'bench', version: '1.0.0' }

/** The official client of the newest revision, with one listen stream. */
export async function connectModern(url: string, uris: readonly string[]): Promise<Subscriber> {
  const protocol = '2026-07-28'
  const client = new Client(INFO, { versionNegotiation: { mode: { pin: protocol } } })
  const inbox = new Inbox()
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => inbox.push(params.uri))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const subscription = await client.listen({ resourceSubscriptions: [...uris] })
  return {
    protocol,
    next: () => inbox.next(),
    async [Symbol.asyncDispose]() {
      await subscription.close()
      await client.close()
    },
  }
}

/** The official client of the 2025 era, with a session. */
export async function connectLegacy(url: string, uris: readonly string[]): Promise<Subscriber> {
  const client = new LegacyClient(INFO)
  const inbox = new Inbox()
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => inbox.push(params.uri))
  await client.connect(new LegacyTransport(new URL(url)))
  for (const uri of uris) await client.subscribeResource({ uri })
  return { protocol: '2025-11-25', next: () => inbox.next(), [Symbol.asyncDispose]: () => client.close() }
}

class Inbox {
  #next = Promise.withResolvers<Notification>()

  push(uri: string): void {
    this.#next.resolve({ uri, atMs: performance.now() })
  }

  async next(): Promise<Notification> {
    this.#next = Promise.withResolvers()
    return this.#next.promise
  }
}
