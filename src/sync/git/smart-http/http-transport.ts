import { RedirectRefusedError } from '../../upstream/http/http-redirect.ts'
import type { GitHost } from '../objects/git-host.ts'
import type { GitTransport, ObjectLocation } from '../objects/git-transport.ts'
import { FEWER_REFS, type Server, prefixOf, type Ref } from '../objects/ref-rules.ts'
import { discover } from './discover.ts'
import { GitHttp } from './git-http.ts'
import { listRefs } from './protocol.ts'

/** A repository over http(s). */
export class HttpTransport implements GitTransport {
  readonly #url: string
  readonly #reach: GitHost

  constructor(url: string, reach: GitHost) {
    this.#url = url.replace(/\/+$/, '')
    this.#reach = reach
  }

  /** Lists refs. A server matches only prefixes, and peels every tag in its answer. */
  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    const isRemembered = SERVERS.has(this.#url)
    try {
      return await this.#list(patterns, signal)
    } catch (cause) {
      this.forget()
      // The repository has moved since its address was cached. A new discovery may follow the redirect.
      if (isRemembered && cause instanceof RedirectRefusedError) return this.#list(patterns, signal)
      throw cause
    }
  }

  async #list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    const http = await listingHttp(this.#url, this.#reach, signal)
    const server = await this.#server(http)
    const refs = await listRefs(http, server, patterns.map(prefixOf))
    this.#reach.onAddress?.(server.base)
    return refs
  }

  async peel(ref: Ref): Promise<Ref> {
    return ref
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return (await this.list(ANY, signal)).length === 0
  }

  async locate(signal: AbortSignal): Promise<ObjectLocation> {
    const server = SERVERS.get(this.#url) ?? (await this.#server(await listingHttp(this.#url, this.#reach, signal)))
    this.#reach.onAddress?.(server.base)
    return { kind: 'remote', url: this.#url, server }
  }

  forget(): void {
    SERVERS.delete(this.#url)
  }

  async #server(http: GitHttp): Promise<Server> {
    const remembered = SERVERS.get(this.#url)
    if (remembered !== undefined) return remembered
    const server = await discover(http, this.#url)
    // Version 1 sends its refs together with its capabilities, so there is nothing to cache.
    if (server.version === 2) {
      if (SERVERS.size >= MOST_SERVERS) SERVERS.clear()
      SERVERS.set(this.#url, server)
    }
    return server
  }
}

/** Returns a client for one listing of refs. */
export async function listingHttp(url: string, reach: GitHost, signal: AbortSignal): Promise<GitHttp> {
  const bytes = { limit: `${LISTING_BYTES} bytes of refs`, fix: FEWER_REFS, left: LISTING_BYTES }
  const way = await reach.way(signal)
  const limits = { ...reach.limits, totalMs: Math.min(reach.limits.totalMs, LISTING_MS) }
  return new GitHttp(url, { limits, bytes, way, signal })
}

/** The patterns of all branches and tags. */
export const ANY = ['refs/heads/*', 'refs/tags/*'] as const

/**
 * The servers' capabilities by repository, cached in this process, so that a poll takes one request. Removed at the
 * first failure.
 */
const SERVERS = new Map<string, Server>()

const MOST_SERVERS = 1000

/** A listing is one short answer. A slow host delays other pulls no longer than this. */
const LISTING_MS = 60_000

/** Some 200,000 refs. The largest repositories list far fewer by prefix; version 1 lists all. */
const LISTING_BYTES = 2 ** 24
