import { isIP } from 'node:net'

/** Whether an address to listen on is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === '::1' || host.toLowerCase() === 'localhost'
}
