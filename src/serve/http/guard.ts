import type { IncomingMessage } from 'node:http'

/** Why a request is turned away before anything of it is read, or undefined. */
export function refusalOf(request: IncomingMessage): string | undefined {
  const { host, origin } = request.headers
  if (host === undefined || !isLoopbackName(hostnameOf(host)))
    return 'The Host header names none of the names of this server'
  if (origin !== undefined && !isLoopbackOrigin(origin)) return 'The Origin header names another site'
  return undefined
}

/**
 * Why a request that comes from a page is turned away, or undefined. By which name it reached us does not matter where each
 * request proves by itself who sent it: git hosts come by names that proxies and tunnels have.
 */
export function refusalOfBrowser({ headers }: IncomingMessage): string | undefined {
  return headers.origin === undefined ? undefined : 'Nothing here is for pages of any site'
}

/** Whether a name can only mean this machine. A page of another site can rebind any other name to it (DNS rebinding). */
function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name)
}

/** The name of a Host header, without the port; brackets of an IPv6 address stay. */
function hostnameOf(host: string): string {
  return host.toLowerCase().replace(/:\d{1,5}$/, '')
}

function isLoopbackOrigin(origin: string): boolean {
  const match = /^https?:\/\/([^/?#@]+)$/i.exec(origin)
  return match?.[1] !== undefined && isLoopbackName(hostnameOf(match[1]))
}
