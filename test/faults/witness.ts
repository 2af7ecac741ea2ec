import { expect } from 'vitest'
import { contentOf, digestOf, itemsOf, walkPages } from '../conformance/peers.ts'
import type { Entry } from '../conformance/peers.ts'
import { legacyHttp, modernHttp } from '../support/clients/peer.ts'
import type { Heard, Peer } from '../support/clients/peer.ts'

/** The digest and size of each file of each skill, by its URI. */
export type Listing = ReadonlyMap<string, string>

/**
 * A client that lists and reads everything, over and over, for as long as a fault lasts, and hears what it is told meanwhile.
 * What it must not see fails the test when it ends: bytes that are not the listed ones, a skill that is gone or a
 * request that fails, a notification without a change, or a change without a notification.
 */
export class Witness implements AsyncDisposable {
  /** What may be refused meanwhile, since it lies damaged on the disk. Wrong bytes are never forgiven. */
  readonly forgiven = new Set<string>()
  readonly #reader: Peer
  readonly #hearing: readonly Hearing[]
  readonly #first: Listing
  #round = Promise.withResolvers<void>()
  #isOver = false
  #watching: Promise<void> = Promise.resolve()

  private constructor(reader: Peer, first: Listing, hearing: readonly Hearing[]) {
    this.#reader = reader
    this.#first = first
    this.#hearing = hearing
  }

  /** Begins at the address of MCP, with what is served there by now. */
  static async at(url: string): Promise<Witness> {
    const reader = await modernHttp(url)
    const first = await listingOf(reader)
    const peers = [await modernHttp(url), await legacyHttp(url)]
    const hearing = peers.map(async (peer) => Hearing.begin(peer, first))
    const witness = new Witness(reader, first, await Promise.all(hearing))
    witness.#watching = witness.#watch()
    // Whoever ends it is told; one that is disposed of after another failure has said enough.
    witness.#watching.catch(() => {})
    return witness
  }

  /** Rejects with the first thing that it should not have seen. */
  get failure(): Promise<never> {
    return this.#watching.then(async () => new Promise<never>(() => {}))
  }

  /** Resolves once everything was listed and read again, all of it after now. */
  async looksAgain(): Promise<void> {
    // The round that is under way began before.
    for (let ends = 0; ends < 2; ends += 1) await Promise.race([this.#watching, this.#round.promise])
  }

  /** Resolves once all has been told of that is listed: before that, two changes would be heard as one. Sources may move meanwhile. */
  async heardAll(): Promise<void> {
    for (const hearing of this.#hearing) await hearing.testify(this.#first, async () => listingOf(this.#reader))
  }

  /** Ends it. Rejects with the first thing that it should not have seen. */
  async testify(): Promise<void> {
    await this.looksAgain()
    const last = await listingOf(this.#reader)
    for (const hearing of this.#hearing) await hearing.testify(this.#first, async () => last)
    // What is told twice may come a little later.
    await this.looksAgain()
    for (const hearing of this.#hearing) await hearing.testify(this.#first, async () => last)
    this.#isOver = true
    await this.#watching
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#watching.catch(() => {})
    for (const hearing of this.#hearing) await hearing[Symbol.asyncDispose]()
  }

  async #watch(): Promise<void> {
    let listing = this.#first
    while (!this.#isOver) {
      for (const uri of listing.keys()) await this.#read(uri, listing)
      const next = await listingOf(this.#reader)
      expect([...next.keys()], 'what was served is served on').toEqual(expect.arrayContaining([...listing.keys()]))
      listing = next
      this.#round.resolve()
      this.#round = Promise.withResolvers()
    }
  }

  /** One generation has one listing: what differs from it is fine only if the listing is another by now. */
  async #read(uri: string, listing: Listing): Promise<void> {
    const reply = await this.#reader.call('resources/read', { uri })
    if (reply.error !== undefined && this.forgiven.has(uri)) return
    const read = reply.error === undefined ? stateOf(contentOf(reply).bytes) : JSON.stringify(reply.error)
    if (read === listing.get(uri)) return
    const now = await listingOf(this.#reader)
    if (now.get(uri) === listing.get(uri)) expect(read, `${uri} is what is listed`).toBe(now.get(uri))
  }
}

/** What one client is told. */
class Hearing implements AsyncDisposable {
  readonly #peer: Peer
  readonly #heard: Heard
  /** How each file was when it was last spoken of. */
  readonly #told: Map<string, string>
  readonly #seen = new Set<unknown>()
  readonly #failures: unknown[] = []

  private constructor(peer: Peer, heard: Heard, first: Listing) {
    this.#peer = peer
    this.#heard = heard
    this.#told = new Map(first)
    this.#listen().catch((error: unknown) => this.#failures.push(error))
  }

  static async begin(peer: Peer, first: Listing): Promise<Hearing> {
    return new Hearing(peer, await peer.subscribe([...first.keys()]), first)
  }

  /** Whether it was told of all that became of what there was first, and each time of something. `listed`: as it is by now. */
  async testify(first: Listing, listed: () => Promise<Listing>): Promise<void> {
    const untold = async () => {
      const last = await listed()
      return [...first.keys()].filter((uri) => this.#told.get(uri) !== last.get(uri))
    }
    await expect.poll(untold, { message: 'each change is told' }).toEqual([])
    expect(this.#failures).toEqual([])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#heard[Symbol.asyncDispose]()
    await this.#peer[Symbol.asyncDispose]()
  }

  async #listen(): Promise<never> {
    for (;;) {
      const message = await this.#heard.next((candidate) => isUpdate(candidate) && !this.#seen.has(candidate))
      this.#seen.add(message)
      const { uri } = message.params
      // What is told of is there to be read before it is told.
      const now = stateOf(contentOf(await this.#peer.call('resources/read', { uri })).bytes)
      expect(now, `${uri} is told of when it is another`).not.toBe(this.#told.get(uri))
      this.#told.set(uri, now)
    }
  }
}

function isUpdate(message: { readonly method?: string }): boolean {
  return message.method === 'notifications/resources/updated'
}

/** Everything that is listed, as it is listed. */
export async function listingOf(peer: Peer): Promise<Listing> {
  const entries: readonly Entry[] = itemsOf(await walkPages(peer, 'skills/list'))
  return new Map(
    entries.flatMap(({ resources }) => resources.map(({ uri, digest, size }) => [uri, `${digest} ${size}`] as const)),
  )
}

/** The same of whoever listens at the address of MCP. */
export async function listingAt(url: string): Promise<Listing> {
  await using peer = await modernHttp(url)
  return await listingOf(peer)
}

function stateOf(bytes: Uint8Array): string {
  return `${digestOf(bytes)} ${bytes.length}`
}
