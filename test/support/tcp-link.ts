import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

/** `passes`: as a cable does. `resets`: ends each connection with a reset. `silent`: takes connections, and passes nothing. */
export type LinkState = 'passes' | 'resets' | 'silent'

/** A port of the loopback address that leads to another one, over a network that fails on demand. */
export class TcpLink implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #behind: number
  readonly #sockets = new Set<Socket>()
  #state: LinkState = 'passes'
  /** The bytes that have arrived and are not passed on. */
  #held: (() => void)[] = []

  private constructor(server: Server, behind: number) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The link does not listen on a port')
    this.port = address.port
    this.#server = server
    this.#behind = behind
    server.on('connection', (socket) => this.#lead(socket))
  }

  static async to(port: number): Promise<TcpLink> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TcpLink(server, port)
  }

  /** The bytes held back in silence are passed on after it, as TCP does. */
  become(state: LinkState): void {
    this.#state = state
    const held = this.#held
    if (state !== 'silent') this.#held = []
    if (state === 'resets') for (const socket of this.#sockets) socket.resetAndDestroy()
    if (state === 'passes') for (const pass of held) pass()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #lead(socket: Socket): void {
    this.#keep(socket)
    if (this.#state === 'resets') return void socket.resetAndDestroy()
    const other = connect(this.#behind, '127.0.0.1')
    this.#keep(other)
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      from.on('data', (bytes) => this.#pass(() => to.write(bytes)))
      from.once('end', () => this.#pass(() => to.end()))
      from.once('close', () => this.#pass(() => to.destroy()))
    }
  }

  #pass(work: () => void): void {
    if (this.#state === 'silent') this.#held.push(work)
    else work()
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
