import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** The Messages API of Anthropic on a loopback port. It answers each message with one word, and keeps what it is sent. */
export class ModelApi implements AsyncDisposable {
  readonly origin: string
  readonly #server: Server
  #bodies: string[] = []

  private constructor(server: Server) {
    this.#server = server
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => {
      // A client that went away in the middle needs no answer.
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  static async start(): Promise<ModelApi> {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', resolve)
    })
    return new ModelApi(server)
  }

  /** Returns the bodies of the messages that were sent since the last call, with real ends of lines in their texts. */
  taken(): string {
    const text = this.#bodies.join('\n').replaceAll(String.raw`\n`, '\n')
    this.#bodies = []
    return text
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || !/^\/(?:v1\/)?messages(?:\?|$)/.test(request.url ?? '')) {
      response.writeHead(404, JSON_TYPE).end('{}')
      return
    }
    const body = (await json(request)) as { readonly stream?: boolean; readonly model?: string }
    this.#bodies.push(JSON.stringify(body))
    const message = { ...MESSAGE, model: body.model }
    if (body.stream !== true) response.writeHead(200, JSON_TYPE).end(JSON.stringify({ ...message, content: [TEXT] }))
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventsOf(message))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

const USAGE = { input_tokens: 1, output_tokens: 1 }

const TEXT = { type: 'text', text: 'hello' }

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
}

/** The events of a message that is streamed. */
function eventsOf(message: object): string {
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { ...TEXT, text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT.text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
