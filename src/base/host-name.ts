import { isIP } from 'node:net'

/** The host name without the brackets that an IPv6 address has in a URL. */
export function bareHost({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '')
}

/** True if an address to listen on is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === '::1' || host.toLowerCase() === 'localhost'
}

/** True if the URL points to this machine. */
export function isLoopbackUrl(url: URL): boolean {
  return isLoopback(bareHost(url))
}
