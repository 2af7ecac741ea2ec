import { Socket } from 'node:net'
import { OperatorError } from '../base/operator-error.ts'
import type { ListenAddress } from '../config/config.ts'

/** What the service manager listens on for us, and goes on listening on when we are gone. */
export interface HandedSockets {
  /** Where MCP clients connect. */
  readonly http?: HandedSocket
  /** Where programs of the operator do. */
  readonly operations?: HandedSocket
}

/** Its address is what the system says of it: whatever it was meant to be, that decides who can reach it. */
export interface HandedSocket extends ListenAddress {
  readonly handed: Socket
}

/**
 * Takes over the sockets of these names. One called `operations` is the second listener; any other name is that of the first,
 * since a socket unit that says nothing gives its own. Throws where there are two for one listener, or one is of no use.
 */
export function takeSockets(names: readonly string[]): HandedSockets {
  const taken: { http?: HandedSocket; operations?: HandedSocket } = {}
  for (const [index, name] of names.entries()) {
    const listener = name === 'operations' ? 'operations' : 'http'
    if (taken[listener] !== undefined)
      throw cannotTake(
        name,
        `there is one for ${listener} already; give one ListenStream, and one FileDescriptorName=operations`,
      )
    taken[listener] = socketOf(FIRST_DESCRIPTOR + index, name)
  }
  return taken
}

/** Where the protocol has them begin. */
const FIRST_DESCRIPTOR = 3

function socketOf(fd: number, name: string): HandedSocket {
  try {
    // Asked for its address alone; it takes no connection before a server is given it.
    const handed = new Socket({ fd, readable: false, writable: false })
    const address = handed.address()
    // One of Unix has no such address. Who may connect to it is decided by the disk of this machine.
    if (!('address' in address)) return { host: 'localhost', port: 0, handed }
    return { host: address.address, port: address.port, handed }
  } catch (cause) {
    throw cannotTake(name, 'it is no stream socket; use ListenStream', { cause })
  }
}

function cannotTake(name: string, why: string, options?: ErrorOptions): OperatorError {
  return new OperatorError(
    'cannot-listen',
    `Cannot listen on the socket "${name}" of the service manager: ${why}`,
    options,
  )
}
