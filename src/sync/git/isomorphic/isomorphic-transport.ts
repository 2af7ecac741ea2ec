import type { GitHost } from '../objects/git-host.ts'
import type { GitTransport, ObjectLocation } from '../objects/git-transport.ts'
import { prefixOf, type Ref } from '../objects/ref-rules.ts'
import { ANY, listingHttp } from '../smart-http/http-transport.ts'
import { checkedRef } from '../smart-http/protocol.ts'

/** A repository over http(s) whose refs and objects isomorphic-git reads, through the HTTP client of every pull. */
export class IsomorphicTransport implements GitTransport {
  readonly #url: string
  readonly #reach: GitHost
  #isReadable = false

  constructor(url: string, reach: GitHost) {
    this.#url = url.replace(/\/+$/, '')
    this.#reach = reach
  }

  /** Lists refs. HEAD is left out if a name is given: each prefix is a request of its own. */
  async list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    const names = (patterns.length > 1 ? patterns.filter((pattern) => pattern !== 'HEAD') : patterns).map(prefixOf)
    return this.#ask(names, signal)
  }

  async peel(ref: Ref): Promise<Ref> {
    return ref
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return (await this.#ask(ANY.map(prefixOf), signal)).length === 0
  }

  async locate(signal: AbortSignal): Promise<ObjectLocation> {
    if (!this.#isReadable) await this.#ask([], signal)
    return { kind: 'isomorphic', repository: { kind: 'remote', url: this.#url } }
  }

  forget(): void {
    this.#isReadable = false
  }

  async #ask(prefixes: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    // Loaded slowly, and only by those who chose it.
    const [{ getRemoteInfo2, listServerRefs }, { httpPlugin }, { BeyondIsomorphicError, isomorphicFailure }] =
      await Promise.all([import('isomorphic-git'), import('./http-plugin.ts'), import('./isomorphic-failure.ts')])
    const client = await listingHttp(this.#url, this.#reach, signal)
    const server = { http: httpPlugin(client), url: this.#url }
    try {
      const { protocolVersion, capabilities, refs = [] } = await getRemoteInfo2(server)
      const format = capabilities['object-format'] ?? 'sha1'
      // isomorphic-git itself finds no ref in such a repository, and says nothing.
      if (format !== 'sha1') throw new BeyondIsomorphicError(this.#url, `its ids are ${String(format)}, not sha1`)
      const listed = protocolVersion === 1 ? [refs] : []
      for (const prefix of protocolVersion === 1 ? [] : prefixes)
        listed.push(await listServerRefs({ ...server, prefix, symrefs: true, peelTags: true }))
      this.#isReadable = true
      this.#reach.onAddress?.(client.base)
      return listed
        .flat()
        .filter(({ ref }) => prefixes.some((prefix) => ref.startsWith(prefix)))
        .map(({ ref: name, oid: id, target, peeled }) =>
          checkedRef({ name, id, target, peeled }, { base: client.base, format: 'sha1' }),
        )
    } catch (error) {
      signal.throwIfAborted()
      throw isomorphicFailure(this.#url, error)
    }
  }
}
