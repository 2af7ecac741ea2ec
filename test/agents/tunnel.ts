import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

/** A port on loopback whose connections lead to another machine, as those of `ssh -L` do. */
export class Tunnel implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets: ReadonlySet<Socket>

  private constructor(server: Server, sockets: ReadonlySet<Socket>) {
    this.#server = server
    this.#sockets = sockets
  }

  static async to(origin: string): Promise<Tunnel> {
    const { hostname, port } = new URL(origin)
    const sockets = new Set<Socket>()
    const server = createServer((near) => {
      const far = connect(Number(port), hostname)
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket)
        socket.pipe(other)
        socket.on('error', () => other.destroy())
        socket.on('close', () => other.destroy())
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Tunnel(server, sockets)
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
