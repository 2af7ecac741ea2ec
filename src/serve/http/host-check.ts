import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { bareAddress } from './server/trusted-proxies.ts'

/**
 * The host names that the server accepts, and the sites whose pages may call it. An entry without a port accepts any
 * port.
 */
export interface Names {
  /** The listening host. On loopback, all loopback names are accepted. */
  readonly host: string
  /** Entries in the form `name` or `name:port`. */
  readonly hosts?: readonly string[]
  /** The address that clients use, if it differs from `host`. */
  readonly publicUrl?: string | undefined
  /** Origins in the form `https://name`, with the port if it is not the default. */
  readonly origins?: readonly string[]
}

/** Rejects requests that use a foreign host name or come from a page of a foreign site, before they are read. */
export class HostCheck {
  readonly #isOnLoopback: boolean
  readonly #hosts: ReadonlySet<string>
  /** Allowed origins of foreign sites. */
  readonly #origins: ReadonlySet<string>
  readonly #publicUrl: URL | undefined

  constructor({ host, hosts = [], publicUrl, origins = [] }: Names) {
    const own = host.includes(':') ? `[${host}]` : host
    this.#isOnLoopback = isLoopbackName(own.toLowerCase())
    this.#publicUrl = publicUrl === undefined ? undefined : new URL(publicUrl)
    this.#hosts = new Set([own, ...hosts, this.#publicUrl?.hostname ?? own].map((name) => name.toLowerCase()))
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()))
  }

  /** Returns the reason for a rejection, or `undefined`. */
  refusalOf(request: IncomingMessage): string | undefined {
    const { host, origin } = request.headers
    if (host === undefined || !this.#isOurs(host.toLowerCase(), request))
      return 'The Host header does not name this server'
    if (origin !== undefined && !this.#isAllowed(origin.toLowerCase(), host.toLowerCase()))
      return 'The Origin header names another site'
    return undefined
  }

  /** Returns the allowed foreign origin of the page that sent the request. */
  guestOf({ headers: { origin } }: IncomingMessage): string | undefined {
    return origin !== undefined && this.#origins.has(origin.toLowerCase()) ? origin : undefined
  }

  #isOurs(host: string, request: IncomingMessage): boolean {
    const name = hostnameOf(host)
    if (this.#hosts.has(host) || this.#hosts.has(name)) return true
    if (this.#isOnLoopback) return isLoopbackName(name)
    // No foreign page can use our own address as its host: the browser would have to load the page from this server.
    const address = name.replaceAll(/^\[|\]$/g, '')
    return isIP(address) !== 0 && address === bareAddress(request.socket.localAddress)
  }

  #isAllowed(origin: string, host: string): boolean {
    if (this.#origins.has(origin) || origin === this.#publicUrl?.origin) return true
    const authority = /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1]
    if (authority === undefined) return false
    if (this.#isOnLoopback && isLoopbackName(hostnameOf(authority))) return true
    // Requests of our own pages. The scheme of the public URL is known, so a page of the same host over plain HTTP is
    // rejected.
    return authority === host && hostnameOf(authority) !== this.#publicUrl?.hostname
  }
}

/**
 * Returns the reason to reject a request that a page sent, or `undefined`. The host name does not matter if each
 * request proves its sender: git hosts use the names of proxies and tunnels.
 */
export function refusalOfBrowser({ headers }: IncomingMessage): string | undefined {
  return headers.origin === undefined ? undefined : 'Nothing here is for pages of any site'
}

/**
 * True if a name can only mean this machine. A foreign page can rebind any other name to this machine (DNS rebinding).
 */
function isLoopbackName(name: string): boolean {
  // A name that only resembles an address is a name: a resolver decides where it points.
  return name === 'localhost' || name === '[::1]' || (name.startsWith('127.') && isIP(name) === 4)
}

/** The host name of a Host header without the port. An IPv6 address keeps its brackets. */
function hostnameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '')
}
