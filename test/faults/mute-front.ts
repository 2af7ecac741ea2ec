import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

/** A port that leads to another, or takes connections and says nothing. */
export class MuteFront implements AsyncDisposable {
  readonly port: number
  /** For connections made from now on. */
  isMute = false
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, behind: number) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The front does not listen on a port')
    this.port = address.port
    this.#server = server
    server.on('connection', (socket) => this.#lead(socket, behind))
  }

  static async before(origin: string): Promise<MuteFront> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new MuteFront(server, Number(new URL(origin).port))
  }

  /** Ends the connections that there are. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  #lead(socket: Socket, behind: number): void {
    this.#keep(socket)
    if (this.isMute) return
    const other = connect(behind, '127.0.0.1')
    this.#keep(other)
    socket.pipe(other).pipe(socket)
    socket.once('close', () => other.destroy())
    other.once('close', () => socket.destroy())
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
