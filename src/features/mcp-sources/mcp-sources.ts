import { folderOf } from '../../base/paths.ts'
import type { Keyring } from '../../daemon/access/keyring.ts'
import type { Config } from '../../daemon/config/config.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import type { FetchedBytes } from '../../daemon/runtime/fetched-bytes.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Snapshot, ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import { hasEntryFault } from '../../sync/skill/entry-faults.ts'
import { AdvanceFetch } from './advance-fetch.ts'
import type { Watched } from './client/change-listener.ts'
import { FetchBudget } from './fetch-budget.ts'
import { KnownMismatches } from './known-mismatches.ts'
import { McpConnections } from './mcp-connections.ts'
import { UpstreamTexts } from './upstream-texts.ts'
import { VerifiedReader } from './verified-reader.ts'

export interface McpSourcesParts extends DaemonContext {
  readonly config: Config
  readonly keyring: Keyring
  readonly reader: DocumentReader
  /** Counts the bytes of fetched files. */
  readonly fetched: FetchedBytes
  readonly served: ServedSkills
}

/** The served skills of MCP servers. */
export interface ServedSkills {
  currentOf(id: SourceId): ServedSource | undefined
  /** Applies the findings in the files of the source to the served skills. Resolves when the result is served. */
  applyFindings(source: McpSource, trigger: 'call'): Promise<void>
}

/** The sources that are other MCP servers: their connections and their files. */
export class McpSources implements AsyncDisposable {
  readonly connections: McpConnections
  readonly contents: VerifiedReader
  /** Fetches files before a client reads them. */
  readonly advance: AdvanceFetch
  readonly mismatches: KnownMismatches
  readonly #parts: McpSourcesParts
  readonly #budget: FetchBudget

  constructor(parts: McpSourcesParts) {
    this.#parts = parts
    const { config, store, clock, fetched, served } = parts
    const spendings = new FetchBudget(clock, store.upstreams, fetched)
    this.#budget = spendings
    const texts = new UpstreamTexts(parts)
    this.connections = new McpConnections({ ...parts, spendings, texts, limits: config.limits })
    const judge = async (source: McpSource): Promise<void> => served.applyFindings(source, 'call')
    const currentOf = (id: SourceId): ServedSource | undefined => served.currentOf(id)
    this.mismatches = new KnownMismatches({ ...parts, judge, currentOf })
    const { connections: servers, mismatches } = this
    const onStored = (id: SourceId): void => this.advance.stored(id)
    this.contents = new VerifiedReader({ ...parts, servers, spendings, texts, mismatches, judge, onStored })
    this.advance = new AdvanceFetch({
      ...parts,
      currentOf,
      read: async (skill, file) => this.contents.read(skill, file),
    })
  }

  /** The bytes of files that came from a source in the last hour. */
  fetchedFrom(id: SourceId): number {
    return this.#budget.spent(id)
  }

  /** Subscribes to changes of the skills that were last pulled from the servers. */
  watch(): void {
    const { config, served } = this.#parts
    for (const configured of config.sources) {
      const { source } = configured
      if (source.kind !== 'mcp' || config.mode.offline) continue
      const current = served.currentOf(source.id)
      // Before the first listing there is nothing to subscribe to.
      if (current === undefined) continue
      this.connections.at(configured, source).watch(watchedOf(current.snapshot))
    }
  }

  /** Ends the fetches for clients. The connections stay open for the pulls that are under way. */
  async endReading(): Promise<void> {
    await this.contents[Symbol.asyncDispose]()
    await this.advance[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endReading()
    await this.connections[Symbol.asyncDispose]()
  }
}

function watchedOf({ skills }: Snapshot): Watched {
  const ofUpstream = skills.filter(isOfUpstream)
  const omitted = ofUpstream.filter(hasEntryFault).map(({ upstream }) => folderOf(upstream.uri))
  const uris = ofUpstream.map(({ upstream }) => upstream.archive ?? upstream.uri)
  const folders = omitted.slice(0, MOST_WATCHED)
  return { uris: uris.slice(0, MOST_WATCHED - folders.length), omitted: folders }
}

/**
 * A server of this era also has a document that names all listed skills and is watched too. It covers the skills beyond
 * this limit.
 */
const MOST_WATCHED = 512

/** Removes the files of servers that are no longer configured. If that fails, they are still given to no client. */
export async function forgetRemoved({ sources }: Config, { store, log }: DaemonContext): Promise<void> {
  const servers = sources.filter(({ source }) => source.kind === 'mcp').map(({ source }) => source.id)
  try {
    for (const id of await store.upstreams.forgetOthers(new Set(servers)))
      log.info('upstream-forgotten', { source: id })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.warn('upstream-not-forgotten', { code: error.code, message: error.message })
  }
}
