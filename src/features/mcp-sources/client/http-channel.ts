import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { ConnectionOptions, HttpAddress } from './address.ts'
import { Unanswered, type Channel, type ChannelListener, type Sending, type ServerStream } from './channel.ts'
import { HttpFetch } from './http-fetch.ts'
import type { Outgoing } from './message.ts'

/** A channel to a server over HTTP. The transport is the SDK's, loaded on first use; the HTTP exchange is our own. */
export class HttpChannel implements Channel {
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
