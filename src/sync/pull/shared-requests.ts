import type { Ref } from '../git/objects/ref-rules.ts'
import { patternsOf, revisionOfCommit } from '../git/objects/ref-rules.ts'
import type { Source } from '../model/source.ts'
import type { ChannelLook } from '../store/followed-logs.ts'
import { SharedListings } from '../upstream/shared-listings.ts'
import type { Reach } from './open-upstream.ts'

/** Shares between pulls what the sources of one address each ask for: the refs of a repository, the log of a channel. */
export class SharedRequests {
  readonly #listings = new SharedListings<Ref>()
  readonly #looks = new SharedListings<ChannelLook>()

  /** Registers a pull of the source. `address`: equal for sources of the same address, with the same access. */
  request(source: Source, address: string): SharedRequest {
    using requested = new DisposableStack()
    const reach =
      source.kind === 'channel' && source.isNamesake === true
        ? { look: requested.use(this.#looks.request(address, [])) }
        : { listing: requested.use(this.#listings.request(address, refsOf(source))) }
    const kept = requested.move()
    return { reach, [Symbol.dispose]: () => kept.dispose() }
  }
}

/** The part of one pull in what pulls share. */
export interface SharedRequest extends Disposable {
  readonly reach: Pick<Reach, 'listing' | 'look'>
}

/** Returns the refs that a pull of the source will request, so that a shared listing can request those of all pulls. */
function refsOf(source: Source): readonly string[] {
  if (source.kind !== 'git') return []
  return revisionOfCommit(source.ref) === undefined ? patternsOf(source.ref) : []
}
