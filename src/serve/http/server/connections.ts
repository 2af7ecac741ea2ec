import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, to be closed as soon as nothing is awaited on them. Node closes those that are idle when the
 * server closes: one on which nothing was ever sent it does not take for idle, and one whose last answer ends later it keeps
 * for the next request.
 */
export class Connections {
  /** How many requests of each wait for the end of their answer. */
  readonly #waiting = new Map<Socket, number>()
  /** The answer that each was asked for last. */
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

  /** How many answers a connection waits for; in the server's own listener, without the one that is asked for now. */
  waitingOn(socket: Socket): number {
    return this.#waiting.get(socket) ?? 0
  }

  /**
   * Calls once the earlier answers of the connection were taken: who sends one request after another and reads nothing has one
   * answer made for it. In the server's own listener, like the count.
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
   * From here on no connection outlives its last answer. One on which nothing came yet may be a request on its way, which nobody
   * else would answer: it has a moment.
   */
  close(): void {
    this.#isClosing = true
    const leave = (): void => {
      for (const socket of this.#waiting.keys()) if (socket.bytesRead === 0) socket.destroy()
    }
    // Timers come before reads in a turn of the loop: after a long turn a request may lie there that was sent in time.
    setTimeout(() => setImmediate(leave), FIRST_BYTE_MS).unref()
    for (const socket of this.#waiting.keys()) this.#sayLast(socket)
  }

  /** A client that knows of the end sends no further request on the connection, which would be reset. */
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

/** From the connection to the first byte of a request, while we stop. Less than what answers on their way are given. */
const FIRST_BYTE_MS = 1_000

/** Whether a request was sent before the answers to earlier ones on its connection were taken. */
export function hasWaited(response: ServerResponse): boolean {
  return WAITED.has(response)
}

const WAITED = new WeakSet<ServerResponse>()
