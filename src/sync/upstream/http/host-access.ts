/** How a host is reached, and told who we are. Plain data: it is handed to the worker, anew with each request. */
export interface Way {
  /** What proves who we are, by the names of headers in lower case. Sent to the source's own origin alone. */
  readonly headers: Readonly<Record<string, string>>
  readonly route: Route
}

/** Through whom, and trusting whom. */
export interface Route {
  /** Certificates (PEM) that are trusted besides those of the system. */
  readonly ca: string | undefined
  readonly proxy: Proxy | undefined
  /** The addresses of the host that is connected to, a proxy or the one behind it; undefined to look its name up. */
  readonly known?: KnownHost
}

/** The addresses of one host. They hold for no other name. */
interface KnownHost {
  readonly host: string
  readonly addresses: readonly Address[]
}

/** A numeric address; the family is 4 or 6. */
export interface Address {
  readonly address: string
  readonly family: number
}

export interface Proxy {
  /** An `http:` or `https:` address without a user name and a password. */
  readonly url: string
  /** What proves to the proxy who we are. */
  readonly headers: Readonly<Record<string, string>>
}

/** Straight to the host, and saying nothing. */
export const PLAIN_WAY: Way = { headers: {}, route: { ca: undefined, proxy: undefined } }
