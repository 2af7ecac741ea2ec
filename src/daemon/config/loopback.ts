import { isIP } from 'node:net'
import { bareHost } from '../../base/bare-host.ts'

/** Whether an address to listen on is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === '::1' || host.toLowerCase() === 'localhost'
}

/** Whether what has this address is on this machine. */
export function isLoopbackUrl(url: URL): boolean {
  return isLoopback(bareHost(url))
}
