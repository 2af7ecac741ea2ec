/**
 * Shares listings, such as those of refs, between pulls. A listing, or its error, serves all pulls that were requested before it began.
 * A pull that is requested later gets a new listing: the older one could miss the commit that the pull is about.
 */
export class SharedListings<Item> {
  readonly #groups = new Map<string, RequestGroup<Item>>()
  #moments = 0

  /**
   * Registers a pull that needs these items, such as refs. Pulls with the same key can share a listing. A key's listing is dropped as
   * soon as all its requests are disposed.
   */
  request(key: string, names: readonly string[]): RequestedListing<Item> {
    const group = this.#groups.get(key) ?? { requests: new Set(), last: undefined }
    this.#groups.set(key, group)
    const request: Request = { names, at: (this.#moments += 1) }
    group.requests.add(request)
    return {
      list: (wanted, list, signal) => this.#list(group, request, { wanted, list }, signal),
      [Symbol.dispose]: () => {
        group.requests.delete(request)
        if (group.requests.size === 0 && this.#groups.get(key) === group) this.#groups.delete(key)
      },
    }
  }

  #list(
    group: RequestGroup<Item>,
    request: Request,
    { wanted, list }: WantedItems<Item>,
    signal: AbortSignal,
  ): Promise<readonly Item[]> {
    const { last } = group
    if (last !== undefined && last.at > request.at && last.isOf(wanted)) return last.result(signal)
    const names = new Set([wanted, ...[...group.requests].map((other) => other.names)].flat())
    const listing = new Listing((this.#moments += 1), names, list, () => {
      if (group.last === listing) group.last = undefined
    })
    group.last = listing
    return listing.result(signal)
  }
}

/** One pull's share in the listings of its repository. */
export interface RequestedListing<Item> extends Disposable {
  list(names: readonly string[], list: List<Item>, signal: AbortSignal): Promise<readonly Item[]>
}

/** The listing function of the pull that begins. */
type List<Item> = (names: readonly string[], signal: AbortSignal) => Promise<readonly Item[]>

/** The names that a pull wants, and its way to list them. */
interface WantedItems<Item> {
  readonly wanted: readonly string[]
  readonly list: List<Item>
}

/** The pulls that share listings, and the last listing that began. */
interface RequestGroup<Item> {
  readonly requests: Set<Request>
  last: Listing<Item> | undefined
}

interface Request {
  readonly names: readonly string[]
  readonly at: number
}

/** A listing that is running or done. It is aborted when no pull waits for it any more. */
class Listing<Item> {
  readonly at: number
  readonly #names: ReadonlySet<string>
  readonly #controller = new AbortController()
  readonly #items: Promise<readonly Item[]>
  readonly #giveUp: () => void
  #isDone = false
  #waiting = 0

  constructor(at: number, names: ReadonlySet<string>, list: List<Item>, onGivenUp: () => void) {
    this.at = at
    this.#names = names
    this.#giveUp = onGivenUp
    this.#items = list([...names], this.#controller.signal).finally(() => (this.#isDone = true))
    // Each waiting pull gets the error. This avoids an unhandled rejection if none waits.
    this.#items.catch(() => {})
  }

  isOf(names: readonly string[]): boolean {
    return names.every((name) => this.#names.has(name))
  }

  /** Rejects with the reason if the signal is aborted; the other pulls continue to wait. */
  async result(signal: AbortSignal): Promise<readonly Item[]> {
    const gone = Promise.withResolvers<never>()
    const leave = () => gone.reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    this.#waiting += 1
    try {
      signal.throwIfAborted()
      return await Promise.race([this.#items, gone.promise])
    } finally {
      signal.removeEventListener('abort', leave)
      this.#waiting -= 1
      if (this.#waiting === 0 && !this.#isDone) this.#abandon(signal.reason)
    }
  }

  #abandon(reason: unknown): void {
    // Another pull must not join an aborted listing.
    this.#giveUp()
    this.#controller.abort(reason)
  }
}
