import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The connections of a server, to be closed as soon as nothing is awaited on them. Node closes those that are idle when the
 * server closes: one on which nothing was ever sent it does not take for idle, and one whose last answer ends later it keeps
 * for the next request.
 */
export class Connections {
  /** How many requests of each wait for the end of their answer. */
  readonly #waiting = new Map<Socket, number>()
  #isClosing = false

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#waiting.set(socket, 0)
      socket.once('close', () => this.#waiting.delete(socket))
    })
    server.on('request', ({ socket }, response) => {
      this.#count(socket, 1)
      response.once('close', () => this.#count(socket, -1))
    })
  }

  /** How many answers a connection waits for; in the server's own listener, without the one that is asked for now. */
  waitingOn(socket: Socket): number {
    return this.#waiting.get(socket) ?? 0
  }

  /** From here on no connection outlives its last answer. */
  close(): void {
    this.#isClosing = true
    for (const socket of this.#waiting.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  #count(socket: Socket, change: 1 | -1): void {
    const waiting = this.#waiting.get(socket)
    if (waiting === undefined) return
    this.#waiting.set(socket, waiting + change)
    if (this.#isClosing && waiting + change === 0) socket.destroy()
  }
}
