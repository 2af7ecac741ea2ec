import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { bareAddress } from '../server/client-address.ts'

/** By which names a server may be called, and from pages of which sites. Ports mean nothing where none is named. */
export interface Names {
  /** What is listened on. On loopback, all names of loopback are names of the server. */
  readonly host: string
  /** `name` or `name:port`. */
  readonly hosts?: readonly string[]
  /** The address that clients know, where it is another. */
  readonly publicUrl?: string | undefined
  /** `https://name`, with the port where it is not the usual one. */
  readonly origins?: readonly string[]
}

/** Turns requests away before anything of them is read: those for another name than ours, and those of foreign pages. */
export class Guard {
  readonly #isOnLoopback: boolean
  readonly #hosts: ReadonlySet<string>
  /** Of foreign sites. */
  readonly #origins: ReadonlySet<string>
  readonly #publicUrl: URL | undefined

  constructor({ host, hosts = [], publicUrl, origins = [] }: Names) {
    const own = host.includes(':') ? `[${host}]` : host
    this.#isOnLoopback = isLoopbackName(own.toLowerCase())
    this.#publicUrl = publicUrl === undefined ? undefined : new URL(publicUrl)
    this.#hosts = new Set([own, ...hosts, this.#publicUrl?.hostname ?? own].map((name) => name.toLowerCase()))
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()))
  }

  /** Why a request is turned away, or undefined. */
  refusalOf(request: IncomingMessage): string | undefined {
    const { host, origin } = request.headers
    if (host === undefined || !this.#isOurs(host.toLowerCase(), request))
      return 'The Host header names none of the names of this server'
    if (origin !== undefined && !this.#isAllowed(origin.toLowerCase(), host.toLowerCase()))
      return 'The Origin header names another site'
    return undefined
  }

  /** The foreign site whose page sent a request that is not turned away. */
  guestOf({ headers: { origin } }: IncomingMessage): string | undefined {
    return origin !== undefined && this.#origins.has(origin.toLowerCase()) ? origin : undefined
  }

  #isOurs(host: string, request: IncomingMessage): boolean {
    const name = hostnameOf(host)
    if (this.#hosts.has(host) || this.#hosts.has(name)) return true
    if (this.#isOnLoopback) return isLoopbackName(name)
    // No page can have a foreign address pass for ours: what it would have to be loaded from is us.
    const address = name.replaceAll(/^\[|\]$/g, '')
    return isIP(address) !== 0 && address === bareAddress(request.socket.localAddress)
  }

  #isAllowed(origin: string, host: string): boolean {
    if (this.#origins.has(origin) || origin === this.#publicUrl?.origin) return true
    const authority = /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1]
    if (authority === undefined) return false
    if (this.#isOnLoopback && isLoopbackName(hostnameOf(authority))) return true
    // Our own pages. Of the public address the scheme is known, so that a page sent in clear does not pass for it.
    return authority === host && hostnameOf(authority) !== this.#publicUrl?.hostname
  }
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
  // A name that only looks like an address is a name: what it leads to is up to a resolver.
  return name === 'localhost' || name === '[::1]' || (name.startsWith('127.') && isIP(name) === 4)
}

/** The name of a Host header, without the port; brackets of an IPv6 address stay. */
function hostnameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '')
}
