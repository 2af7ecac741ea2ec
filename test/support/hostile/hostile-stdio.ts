import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Reply } from './hostile-answer.ts'
import type { Brain } from './hostile-brain.ts'
import { recordOf } from './hostile-request.ts'
import type { Recorded } from './hostile-request.ts'
import { legacyStream } from './hostile-streams.ts'
import type { Sink, Stream } from './hostile-streams.ts'
import { trickle } from './hostile-trickle.ts'

/** The program that brings its stdin and stdout to a port of this machine. */
export const BRIDGE = fileURLToPath(new URL('hostile-stdio.mjs', import.meta.url))

const LEGACY = Symbol('legacy')

/** One process that a client started: its stdin and stdout, come through a socket. */
export class StdioConnection {
  readonly #brain: Brain
  readonly #socket: Socket
  readonly #end: AbortSignal
  readonly #uris = new Set<string>()
  /** By the id of the request that opened it; no request opens that of the 2025 era. */
  readonly #streams = new Map<unknown, Stream>()
  /** A line is over before the next begins, however long it takes. */
  #written = Promise.resolve()

  constructor(brain: Brain, socket: Socket, end: AbortSignal) {
    this.#brain = brain
    this.#socket = socket
    this.#end = end
    socket.on('close', () => {
      for (const id of this.#streams.keys()) this.#forget(id)
    })
    // A client may kill its process in the middle, and readline passes the error of the socket on.
    createInterface({ input: socket })
      .on('error', () => {})
      .on('line', (line) => void this.#take(line))
  }

  async #take(line: string): Promise<void> {
    const request = recordOf(line, 'stdio')
    if (request.method === 'notifications/cancelled') this.#forget(request.params?.requestId)
    this.#act(await this.#brain.reply(request, { uris: this.#uris }), request)
  }

  #act(reply: Reply, request: Recorded): void {
    switch (reply.kind) {
      case 'silence':
      case 'accepted':
        return
      case 'drop':
        this.#socket.destroy()
        return
      case 'listen':
        this.#streams.set(request.id, this.#brain.listen(request, this.#sink))
        return
      case 'body':
        this.#write(reply.body, reply.delayPerByteMs)
        if (reply.isResult === true && request.method === 'initialize') this.#openStream()
    }
  }

  #openStream(): void {
    const stream = legacyStream(this.#sink, this.#uris)
    this.#streams.set(LEGACY, stream)
    this.#brain.open.add(stream)
  }

  #forget(id: unknown): void {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    if (stream !== undefined) this.#brain.open.remove(stream)
  }

  get #sink(): Sink {
    return {
      send: (message) => this.#write(JSON.stringify(message)),
      pour: (text) => this.#write(text, undefined, ''),
      end: () => {},
      cut: () => void this.#socket.destroy(),
    }
  }

  #write(body: string | Uint8Array, delayMs?: number, after = '\n'): void {
    this.#written = this.#writeAfter(this.#written, body, delayMs, after)
  }

  async #writeAfter(
    before: Promise<void>,
    body: string | Uint8Array,
    delayMs: number | undefined,
    after: string,
  ): Promise<void> {
    await before
    if (this.#socket.destroyed) return
    if (delayMs === undefined) this.#socket.write(body)
    else await trickle(body, delayMs, this.#socket, this.#end)
    this.#socket.write(after)
  }
}
