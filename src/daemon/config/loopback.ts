import { isIP } from 'node:net'
import { bareHost } from '../../base/bare-host.ts'

/** True if an address to listen on is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === '::1' || host.toLowerCase() === 'localhost'
}

/** True if the URL points to this machine. */
export function isLoopbackUrl(url: URL): boolean {
  return isLoopback(bareHost(url))
}
