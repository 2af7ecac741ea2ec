import { Socket } from 'node:net'
import type { ListenAddress } from '../../config/config.ts'
import { OperatorError } from '../../runtime/operator-error.ts'

/** The sockets that the service manager opened for this process, and keeps open after it exits. */
export interface HandedSockets {
  /** The socket for MCP clients. */
  readonly http?: HandedSocket
  /** The socket for the operator's programs. */
  readonly operations?: HandedSocket
}

/**
 * A socket with its address as the system reports it: that address decides which clients can reach it, whatever was
 * intended.
 */
export interface HandedSocket extends ListenAddress {
  readonly handed: Socket
}

/**
 * Takes over the sockets with these names. The name `operations` means the second listener. Any other name means the
 * first, because a socket unit without a name passes its own. Throws if one listener gets two sockets, or a socket is
 * unusable.
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

/** The first descriptor of the systemd protocol. */
const FIRST_DESCRIPTOR = 3

function socketOf(fd: number, name: string): HandedSocket {
  try {
    // Opened only to query its address; it accepts no connection before a server gets it.
    const handed = new Socket({ fd, readable: false, writable: false })
    const address = handed.address()
    // A Unix socket has no such address. The permissions on this machine's disk decide which clients can connect.
    if (!('address' in address)) return { host: 'localhost', port: 0, handed }
    return { host: address.address, port: address.port, handed }
  } catch (cause) {
    throw cannotTake(name, 'it is not a stream socket; use ListenStream', { cause })
  }
}

function cannotTake(name: string, why: string, options?: ErrorOptions): OperatorError {
  return new OperatorError(
    'cannot-listen',
    `Cannot listen on the socket "${name}" of the service manager: ${why}`,
    options,
  )
}
