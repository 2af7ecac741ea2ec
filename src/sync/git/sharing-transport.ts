import type { RequestedListing } from '../upstream/shared-listings.ts'
import type { GitTransport, ObjectLocation } from './objects/git-transport.ts'
import type { Ref } from './objects/ref-rules.ts'

/** A transport that shares its listing of refs with other pulls. */
export class SharingTransport implements GitTransport {
  readonly #transport: GitTransport
  readonly #listing: RequestedListing<Ref>
  #isForgotten = false

  constructor(transport: GitTransport, listing: RequestedListing<Ref>) {
    this.#transport = transport
    this.#listing = listing
  }

  async list(names: readonly string[], signal: AbortSignal): Promise<readonly Ref[]> {
    if (this.#isForgotten) return this.#transport.list(names, signal)
    // A second look of the same pull must not be answered by the first.
    this.#isForgotten = true
    return this.#listing.list(names, (all, until) => this.#transport.list(all, until), signal)
  }

  async peel(ref: Ref, signal: AbortSignal): Promise<Ref> {
    return this.#transport.peel(ref, signal)
  }

  async isEmpty(signal: AbortSignal): Promise<boolean> {
    return this.#transport.isEmpty(signal)
  }

  async locate(signal: AbortSignal): Promise<ObjectLocation> {
    return this.#transport.locate(signal)
  }

  forget(): void {
    this.#isForgotten = true
    this.#transport.forget()
  }
}
