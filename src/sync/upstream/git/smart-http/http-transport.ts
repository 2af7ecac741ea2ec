import { GitHttp } from './git-http.ts'
import type { GitTransport, Place } from '../objects/git-transport.ts'
import { discover } from './discover.ts'
import { RedirectRefused } from '../../http/http-redirect.ts'
import { listRefs } from './protocol.ts'
import { type Server, prefixOf, type Ref } from '../objects/ref-rules.ts'
import type { GitHost } from '../objects/git-host.ts'

/** A repository behind http(s). */
export class HttpTransport implements GitTransport {
  readonly #url: string
  readonly #reach: GitHost

  constructor(url: string, reach: GitHost) {
    this.#url = url.replace(/\/+$/, '')
    this.#reach = reach
  }

  /** A server knows prefixes alone, and peels each tag of its answer. */
  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    const isRemembered = SERVERS.has(this.#url)
    try {
      return await this.#list(patterns, signal)
    } catch (cause) {
      this.forget()
      // The repository moved since its host was asked where it is: the answer to that may lead on.
      if (isRemembered && cause instanceof RedirectRefused) return this.#list(patterns, signal)
      throw cause
    }
  }

  async #list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    const http = await this.#open(signal)
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

  async locate(signal: AbortSignal): Promise<Place> {
    const server = SERVERS.get(this.#url) ?? (await this.#server(await this.#open(signal)))
    this.#reach.onAddress?.(server.base)
    return { kind: 'remote', url: this.#url, server }
  }

  forget(): void {
    SERVERS.delete(this.#url)
  }

  async #open(signal: AbortSignal): Promise<GitHttp> {
    const bytes = { limit: `${LISTING_BYTES} bytes of refs`, left: LISTING_BYTES }
    const way = await this.#reach.way(signal)
    const { limits } = this.#reach
    const short = { ...limits, totalMs: Math.min(limits.totalMs, LISTING_MS) }
    return new GitHttp(this.#url, { limits: short, bytes, way, signal })
  }

  async #server(http: GitHttp): Promise<Server> {
    const remembered = SERVERS.get(this.#url)
    if (remembered !== undefined) return remembered
    const server = await discover(http, this.#url)
    // Version 1 tells its refs together with what it can do, so there is nothing to remember.
    if (server.version === 2) {
      if (SERVERS.size >= MOST_SERVERS) SERVERS.clear()
      SERVERS.set(this.#url, server)
    }
    return server
  }
}

const ANY = ['refs/heads/*', 'refs/tags/*'] as const

/** What servers can do, by repository, for this process: it makes a poll one request. Forgotten at the first failure. */
const SERVERS = new Map<string, Server>()

const MOST_SERVERS = 1000

/** A listing is one short answer. A host that drips it keeps others waiting no longer than this. */
const LISTING_MS = 60_000

/** Some 200,000 refs. The largest repositories list by prefix far less, and version 1 lists all. */
const LISTING_BYTES = 2 ** 24
