import { waitAtMost } from '../../base/async/wait-at-most.ts'
import { folderOf } from '../../base/paths.ts'
import type { Keyring } from '../../daemon/access/keyring.ts'
import type { Config } from '../../daemon/config/config.ts'
import type { DaemonCore, DaemonContext } from '../../daemon/runtime/context.ts'
import type { FetchedBytes } from '../../daemon/runtime/fetched-bytes.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import { isUnread } from '../../serve/content.ts'
import type { UnreadContent } from '../../serve/content.ts'
import { pendingIn } from '../../sync/model/decisions/approvals.ts'
import { disabledIn } from '../../sync/model/decisions/disabled-matches.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import { hasEntryFault } from '../../sync/skill/entry-faults.ts'
import type { Watched } from './client/change-listener.ts'
import { FetchBudget } from './fetch-budget.ts'
import { KnownMismatches } from './known-mismatches.ts'
import { McpConnections } from './mcp-connections.ts'
import { UpstreamTexts } from './upstream-texts.ts'
import { VerifiedReader } from './verified-reader.ts'

export interface McpSourcesParts extends DaemonCore {
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

interface AdvanceFetchParts extends Pick<DaemonContext, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly currentOf: (id: SourceId) => ServedSource | undefined
  /** Reads a file from the store, or fetches, compares and stores it. */
  readonly read: (skill: UpstreamSkill, file: SkillFile) => Promise<Uint8Array | UnreadContent>
}

/** A file that is not in the store. */
interface MissingFile {
  readonly skill: UpstreamSkill
  readonly file: SkillFile
}

/** Fetches files of MCP servers before a client reads them, for sources with `fetch: all` or `folders`. */
class AdvanceFetch implements AsyncDisposable {
  readonly #parts: AdvanceFetchParts
  readonly #reaction: Reaction
  /** The sources with files that were stored since the listener was called. */
  readonly #stored = new Set<SourceId>()
  /** The SHA-256 of the files of sources with `folders` that this process compared with them. */
  readonly #compared = new Map<SourceId, Set<string>>()
  #onFetched: () => void = () => {}

  constructor(parts: AdvanceFetchParts) {
    this.#parts = parts
    this.#reaction = new Reaction({ clock: parts.clock, run: async (signal) => this.#round(signal) })
  }

  /** Calls back from now on when files have come that folders of agents may lack. */
  onFetched(listener: () => void): void {
    this.#onFetched = listener
  }

  /** Records that a file was stored, for whatever reason. */
  stored(id: SourceId): void {
    this.#stored.add(id)
  }

  /** Fetches the missing files of skills that may be served. */
  async fetch(source: McpSource, signal: AbortSignal): Promise<void> {
    if ((source.fetching === 'lazy' && !source.folders) || this.#parts.config.mode.offline) return
    const snapshot = this.#parts.currentOf(source.id)?.snapshot
    if (snapshot === undefined) return
    await this.#fetchFrom(source, signal, async () => this.#missingIn(source, snapshot))
    if (source.folders && this.#stored.delete(source.id)) this.#onFetched()
  }

  /**
   * Fetches the changed files of skills that are served already, before the new snapshot is. So the folders of agents can
   * switch to it when clients get it. A server that is slow delays the snapshot by a few seconds and no more.
   */
  async prepare(source: McpSource, next: Snapshot, signal: AbortSignal): Promise<void> {
    const { clock, config, currentOf } = this.#parts
    // What changes without `approval` is approved already; else it waits, and is fetched once it is approved.
    if (!source.folders || source.approval === 'required' || config.mode.offline) return
    const before = new Map(currentOf(source.id)?.snapshot.skills.map(({ path, digest }) => [path, digest]))
    const isChanged = ({ path, digest }: UpstreamSkill): boolean => before.has(path) && before.get(path) !== digest
    const missing = async (): Promise<MissingFile[]> =>
      (await this.#missingIn(source, next)).filter(({ skill }) => isChanged(skill))
    const until = AbortSignal.any([signal, this.#reaction.signal])
    const unlessAborted = (error: unknown): void => {
      if (!until.aborted) throw error
    }
    await waitAtMost(PREPARE_MS, this.#fetchFrom(source, until, missing).catch(unlessAborted), clock)
  }

  /** Compares the stored files of the skill anew, because one is damaged, and fetches those that are. */
  recheck({ files, upstream }: UpstreamSkill): void {
    for (const { sha256 } of files) this.#compared.get(upstream.source)?.delete(sha256)
    this.follow()
  }

  /** Fetches what folders lack of the served skills, in the background. A round that has not begun yet is enough. */
  follow(): void {
    this.#reaction.trigger()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reaction[Symbol.asyncDispose]()
  }

  async #round(signal: AbortSignal): Promise<void> {
    for (const { source } of this.#parts.config.sources)
      if (source.kind === 'mcp' && source.folders) await this.fetch(source, signal)
  }

  async #fetchFrom(
    source: McpSource,
    signal: AbortSignal,
    missing: () => Promise<readonly MissingFile[]>,
  ): Promise<void> {
    try {
      const refused = new Set<UpstreamSkill>()
      let refusals = 0
      for (const { skill, file } of await missing()) {
        signal.throwIfAborted()
        if (refused.has(skill)) continue
        // Reported where it is read. The refusal of one skill says nothing about the next one.
        const bytes = await this.#parts.read(skill, file)
        if (isUnread(bytes)) refused.add(skill)
        refusals = bytes === 'not-now' ? refusals + 1 : 0
        // A server that is down must not keep the files of others waiting.
        if (refusals >= MOST_REFUSALS) return
      }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      const { code, message } = error
      this.#parts.log.failure('warn', 'content-not-fetched', { source: source.id, code, message })
    }
  }

  async #missingIn(source: McpSource, snapshot: Snapshot): Promise<MissingFile[]> {
    const { decisions } = this.#parts.store
    const disabled = disabledIn(snapshot, decisions.outOfService)
    const pending = new Set(source.approval === 'required' ? pendingIn(snapshot, decisions.approvals) : [])
    const missing: MissingFile[] = []
    const declared = new Set<string>()
    for (const skill of snapshot.skills.filter(isOfUpstream)) {
      const isServed = skill.standing !== 'withheld' && !pending.has(skill) && !disabled.has(skill.path)
      for (const file of isServed ? skill.files : []) {
        declared.add(file.sha256)
        if (!(await this.#isHere(source, file))) missing.push({ skill, file })
      }
    }
    const compared = [...(this.#compared.get(source.id) ?? [])]
    this.#compared.set(source.id, new Set(compared.filter((sha256) => declared.has(sha256))))
    return missing
  }

  /** A damaged file of a folder is fetched again, although no client reads it. */
  async #isHere({ id, folders }: McpSource, file: SkillFile): Promise<boolean> {
    const { upstreams } = this.#parts.store
    if (!(await upstreams.has(id, file))) return false
    const compared = this.#compared.get(id) ?? new Set()
    if (!folders || compared.has(file.sha256)) return true
    if ((await upstreams.read(id, file)).kind !== 'whole') return false
    this.#compared.set(id, compared.add(file.sha256))
    return true
  }
}

const PREPARE_MS = 5_000

/** The reads in a row that a server refuses for the moment before a round leaves it. */
const MOST_REFUSALS = 3
