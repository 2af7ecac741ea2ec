import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { bareAddress, networkOf } from './trusted-proxies.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/**
 * Limits the connections of one address. A trusted proxy holds connections of many clients, so its requests in flight
 * are counted for the clients' addresses instead.
 */
export class ConnectionLimit {
  readonly #most: number
  readonly #proxies: TrustedProxies
  readonly #held = new Map<string, number>()

  constructor(server: Server, most: number, proxies: TrustedProxies) {
    this.#most = most
    this.#proxies = proxies
    server.on('connection', (socket: Socket) => {
      const address = bareAddress(socket.remoteAddress)
      if (!proxies.has(address) && !this.#hold(networkOf(address), socket)) socket.destroy()
    })
  }

  /** Returns false for a request through a proxy if its client has too many in flight. */
  admits(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#proxies.has(bareAddress(request.socket.remoteAddress))) return true
    return this.#hold(networkOf(this.#proxies.clientOf(request)), response)
  }

  #hold(address: string, until: Socket | ServerResponse): boolean {
    const held = this.#held.get(address) ?? 0
    if (held >= this.#most) return false
    this.#held.set(address, held + 1)
    until.once('close', () => this.#release(address))
    return true
  }

  #release(address: string): void {
    const held = this.#held.get(address) ?? 0
    if (held <= 1) this.#held.delete(address)
    else this.#held.set(address, held - 1)
  }
}
