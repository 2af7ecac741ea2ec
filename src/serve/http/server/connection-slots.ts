import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { FairShares } from '../../fair-shares.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import type { Connections } from './connections.ts'
import { bareAddress, networkOf } from './trusted-proxies.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/**
 * Limits the connections, and shares them by address, because the token is not known yet. If all are taken, a new
 * connection replaces one of the address with the most. An idle one is replaced first; a busy one only for another
 * address.
 */
export class ConnectionSlots implements Disposable {
  readonly #most: number
  readonly #proxies: TrustedProxies
  readonly #connections: Pick<Connections, 'waitingOn'>
  readonly #shares = new FairShares<Socket>()
  readonly #open = new Map<Socket, ShareHolder>()
  /** The connections used since the last check for idle ones. */
  readonly #used = new Set<Socket>()
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, most: number, proxies: TrustedProxies, connections: Pick<Connections, 'waitingOn'>) {
    this.#most = most
    this.#proxies = proxies
    this.#connections = connections
    server.on('connection', (socket: Socket) => this.#take(socket))
    server.on('request', ({ socket }, response: ServerResponse) => {
      this.#use(socket)
      response.once('close', () => this.#use(socket))
    })
    this.#timer = setInterval(() => this.endIdle(), LOOK_MS).unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  /**
   * Closes connections that were idle since the previous call, while more than half of the places are taken. It begins
   * with the address that has the most. Called by a timer.
   */
  endIdle(): void {
    const isLongIdle = (socket: Socket): boolean => !this.#used.has(socket)
    while (this.#open.size > this.#most / 2) {
      const socket = this.#idleOf(this.#shares.largest ?? '', isLongIdle)
      if (socket === undefined) break
      this.#end(socket)
    }
    this.#used.clear()
  }

  #take(socket: Socket): void {
    const holder = networkOf(bareAddress(socket.remoteAddress))
    if (this.#open.size >= this.#most && !this.#endOneFor(holder)) {
      socket.destroy()
      return
    }
    this.#open.set(socket, holder)
    this.#shares.hold(holder, socket)
    this.#used.add(socket)
    socket.once('close', () => this.#forget(socket))
  }

  #use(socket: Socket): void {
    const holder = this.#open.get(socket)
    if (holder === undefined) return
    this.#shares.use(holder, socket)
    this.#used.add(socket)
  }

  /** Returns true if there is a place now. */
  #endOneFor(holder: ShareHolder): boolean {
    const giver = this.#shares.giverTo(holder)
    const socket = this.#idleOf(giver ?? holder) ?? (giver === undefined ? undefined : this.#busyOf(giver))
    if (socket === undefined) return false
    this.#end(socket)
    return true
  }

  #idleOf(holder: ShareHolder, isWanted: (socket: Socket) => boolean = () => true): Socket | undefined {
    for (const socket of this.#shares.placesOf(holder)) {
      if (this.#connections.waitingOn(socket) === 0 && isWanted(socket)) return socket
    }
    return undefined
  }

  /** Connections of a trusted proxy carry requests of many clients, so a busy one is never closed. */
  #busyOf(holder: ShareHolder): Socket | undefined {
    const [first] = this.#shares.placesOf(holder)
    return this.#proxies.has(bareAddress(first?.remoteAddress)) ? undefined : first
  }

  #end(socket: Socket): void {
    this.#forget(socket)
    socket.destroy()
  }

  #forget(socket: Socket): void {
    this.#shares.release(this.#open.get(socket) ?? '', socket)
    this.#open.delete(socket)
    this.#used.delete(socket)
  }
}

/** Closes connections after 10 to 20 idle seconds while places are scarce. Otherwise Node's own timeout closes them. */
const LOOK_MS = 10_000
