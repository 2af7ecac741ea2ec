import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Closes the connections of a server as soon as no response is pending on them. Node closes only those that are idle
 * when the server closes. It does not count an unused connection as idle, and keeps one whose last response ends later
 * for the next request.
 */
export class Connections {
  /** The number of pending responses of each connection. */
  readonly #waiting = new Map<Socket, number>()
  /** The last requested response of each connection. */
  readonly #last = new WeakMap<Socket, ServerResponse>()
  #isClosing = false

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#waiting.set(socket, 0)
      socket.once('close', () => this.#waiting.delete(socket))
    })
    server.on('request', ({ socket }, response) => {
      this.#count(socket, 1)
      this.#last.set(socket, response)
      if (this.#isClosing) this.#sayLast(socket)
      response.once('close', () => this.#count(socket, -1))
    })
  }

  /**
   * Returns the number of pending responses of a connection. The server's own listener sees it without the current
   * request.
   */
  waitingOn(socket: Socket): number {
    return this.#waiting.get(socket) ?? 0
  }

  /**
   * Calls back as soon as the client has read the earlier responses of the connection. For a client that pipelines
   * requests without reading, only one response is built at a time. Call it in the server's own listener, like
   * `waitingOn`.
   */
  inTurn(response: ServerResponse, call: () => void): void {
    const { socket } = response.req
    const last = this.waitingOn(socket) === 0 ? undefined : this.#last.get(socket)
    if (last === undefined) return call()
    WAITED.add(response)
    last.once('close', () => {
      if (!socket.destroyed) call()
    })
  }

  /**
   * Lets no connection outlive its last response. An unused connection gets a short delay: it may have a request on its
   * way that no other process would answer.
   */
  close(): void {
    this.#isClosing = true
    const leave = (): void => {
      for (const socket of this.#waiting.keys()) if (socket.bytesRead === 0) socket.destroy()
    }
    // Timers run before reads in a turn of the event loop: after a long turn, a request that was sent in time may still
    // be unread.
    setTimeout(() => setImmediate(leave), FIRST_BYTE_MS).unref()
    for (const socket of this.#waiting.keys()) this.#sayLast(socket)
  }

  /** A client that sees `connection: close` sends no further request on the connection, where it would be reset. */
  #sayLast(socket: Socket): void {
    const last = this.#last.get(socket)
    if (last !== undefined && !last.headersSent) last.setHeader('connection', 'close')
  }

  #count(socket: Socket, change: 1 | -1): void {
    const waiting = this.#waiting.get(socket)
    if (waiting === undefined) return
    this.#waiting.set(socket, waiting + change)
    if (this.#isClosing && waiting + change === 0) socket.destroy()
  }
}

/**
 * Time from the connection to the first byte of a request during shutdown. It is shorter than the grace period for
 * pending responses.
 */
const FIRST_BYTE_MS = 1_000

/** True if a request was sent before the client had read the earlier responses of its connection. */
export function hasWaited(response: ServerResponse): boolean {
  return WAITED.has(response)
}

const WAITED = new WeakSet<ServerResponse>()
