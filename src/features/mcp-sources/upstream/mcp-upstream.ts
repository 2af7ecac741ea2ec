import { createHash } from 'node:crypto'
import { inSlices } from '../../../base/async/cooperative.ts'
import { isObjectId, LISTING_REF, type ObjectId, type Revision } from '../../../sync/model/revision.ts'
import type { ServerListing } from '../../../sync/model/server-listing.ts'
import type { McpSource } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { plainCommit } from '../../../sync/upstream/objects/synthetic-commit.ts'
import type { Listing, ListingUpstream, Relation } from '../../../sync/upstream/upstream.ts'
import type { McpServer } from './server.ts'

/** The context of the upstream of an MCP source. */
export interface McpReach {
  /** The connection to the server, which outlives a pull. */
  readonly server: McpServer
  /** Called with each listing that the server gives. */
  readonly onListing?: (listing: ServerListing) => void
}

/** Another MCP server as a source: its present listing is its only commit. */
export class McpUpstream implements ListingUpstream {
  readonly kind = 'listing'
  readonly #source: McpSource
  readonly #server: McpServer
  readonly #onListing: McpReach['onListing']
  /** The listing of the last `resolve`, for the `list` that follows it. */
  #seen: Listing | undefined

  constructor(source: McpSource, { server, onListing }: McpReach) {
    this.#source = source
    this.#server = server
    this.#onListing = onListing
  }

  async resolve(signal: AbortSignal): Promise<Revision> {
    this.#seen = await this.#look(signal)
    return this.#seen.revision
  }

  async list({ commit }: Revision, signal: AbortSignal): Promise<Listing> {
    signal.throwIfAborted()
    if (this.#seen?.revision.commit !== commit) this.#seen = await this.#look(signal)
    if (this.#seen.revision.commit === commit) return this.#seen
    const message = `Cannot take listing ${commit}: "${this.#source.id}" lists something else now, and a server keeps no history`
    throw new SyncError('ref-not-found', message)
  }

  /** A listing has no history. */
  async relation(from: ObjectId, to: ObjectId, signal: AbortSignal): Promise<Relation> {
    signal.throwIfAborted()
    return from === to ? 'descends' : 'unknown'
  }

  async #look(signal: AbortSignal): Promise<Listing> {
    const listing = await this.#server.list(signal)
    this.#onListing?.(listing)
    const { form, findings, firstRead, proved, dynamic, packed, offers, isPrivate } = listing
    const written: { readonly entry: unknown; readonly text: string }[] = []
    const write = (entry: unknown): void => void written.push({ entry, text: JSON.stringify(entry) })
    await inSlices(listing.entries, write, signal)
    // The order of a listing means nothing. It must not decide which of two entries for one skill counts.
    const inOrder = written.toSorted((a, b) => (a.text < b.text ? -1 : 1))
    const entries = inOrder.map(({ entry }) => entry)
    const archives = [...packed].map(([uri, archive]) => `${uri} ${archive}`)
    const read = [firstRead, dynamic, proved].map((uris) => [...uris].toSorted())
    const learnt = JSON.stringify([
      form,
      findings,
      ...read,
      archives.toSorted(),
      isPrivate,
      ...(offers ? [offers] : []),
    ])
    const root = await digestOf([...inOrder.map(({ text }) => text), learnt], signal)
    const { bytes, id } = plainCommit(root, 'The listing of an MCP server')
    const revision = { asked: undefined, ref: LISTING_REF, commit: id }
    return { ...listing, revision, proof: { commit: bytes }, root, entries }
  }
}

async function digestOf(written: readonly string[], signal: AbortSignal): Promise<ObjectId> {
  const hash = createHash('sha256')
  const update = (text: string): void => void hash.update(`${Buffer.byteLength(text)} ${text}`)
  await inSlices(written, update, signal)
  const id = hash.digest('hex')
  if (!isObjectId(id)) throw new TypeError('A SHA-256 has 64 hex digits')
  return id
}
