/** The route to a host and the credential for it. Plain data, because the worker gets it anew with each request. */
export interface HostAccess {
  /** The credential headers, with names in lower case. Sent only to the source's own origin. */
  readonly headers: Readonly<Record<string, string>>
  readonly route: HostRoute
}

/** The proxy, the trusted certificates and the known addresses for a connection. */
export interface HostRoute {
  /** Certificates (PEM) that are trusted in addition to those of the system. */
  readonly ca: string | undefined
  readonly proxy: Proxy | undefined
  /** The addresses of the host to connect to, the proxy or the host itself; `undefined` for a DNS lookup. */
  readonly known?: KnownHost
}

/** The addresses of one host name. They apply to no other name. */
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
  /** The credential headers for the proxy. */
  readonly headers: Readonly<Record<string, string>>
}

/** A direct connection without a credential. */
export const PLAIN_WAY: HostAccess = { headers: {}, route: { ca: undefined, proxy: undefined } }
