import { foldersAbove } from '../../base/paths.ts'
import type { Keyring } from '../../daemon/access/keyring.ts'
import { programVariables } from '../../daemon/access/program-variables.ts'
import type { Config, ConfiguredSource } from '../../daemon/config/config.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { VERSION } from '../../serve/version.ts'
import type { NameRule } from '../../sync/model/decisions/rules.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource, NamedSkill } from '../../sync/model/source.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import type { KnownRead, UpstreamFiles } from '../../sync/store/skills/upstream-files.ts'
import { selector } from '../../sync/survey/survey-rules.ts'
import { ArchiveFiles } from './archive-files.ts'
import { BudgetedReads } from './budgeted-reads.ts'
import { MCP_LIMITS } from './client/address.ts'
import type { McpAddress } from './client/address.ts'
import { McpConnection } from './client/mcp-connection.ts'
import type { FetchBudget } from './fetch-budget.ts'
import { FirstReadRecord } from './first-read-record.ts'
import type { UpstreamTexts } from './upstream-texts.ts'
import type { ResourceContents } from './upstream/contents.ts'
import type { CachedFile, FileCache, UnreadFile } from './upstream/file-cache.ts'
import { pathOfUri } from './upstream/listed-files.ts'
import type { LookRules } from './upstream/look-rules.ts'
import { ServerConnection } from './upstream/server-connection.ts'
import type { McpServer } from './upstream/server.ts'

export interface ServersParts extends Pick<DaemonContext, 'store' | 'clock' | 'log' | 'environment' | 'redactor'> {
  readonly keyring: Keyring
  readonly spendings: FetchBudget
  readonly limits: Config['limits']
  readonly reader: DocumentReader
  readonly texts: UpstreamTexts
}

/** The connections to the MCP servers that are sources, each opened at its first use. */
export class McpConnections implements AsyncDisposable {
  readonly #parts: ServersParts
  readonly #servers = new Map<SourceId, McpServer>()
  #onNews: (id: SourceId) => void = () => {}

  constructor(parts: ServersParts) {
    this.#parts = parts
  }

  /** Calls `listener` from now on when a server notifies of a change. */
  onNews(listener: (id: SourceId) => void): void {
    this.#onNews = listener
  }

  at(configured: ConfiguredSource, source: McpSource): McpServer {
    const server = this.#servers.get(source.id) ?? this.#linkTo(configured, source)
    this.#servers.set(source.id, server)
    return server
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server[Symbol.asyncDispose]()))
  }

  #linkTo(configured: ConfiguredSource, source: McpSource): McpServer {
    const { store, keyring, spendings, limits, texts, clock } = this.#parts
    const { connectMs, idleMs, totalMs } = limits.fetch
    const requestMs = Math.min(MCP_LIMITS.requestMs, totalMs)
    const way = keyring.wayTo(configured)
    const address = this.#addressOf(configured, source)
    const options = { way, limits: { ...MCP_LIMITS, connectMs, idleMs, requestMs }, version: VERSION }
    const known = new FirstReadRecord(source, { files: store.upstreams, clock })
    const reading = { files: store.upstreams, known, metered: new BudgetedReads(source, spendings), texts }
    return new ServerConnection({
      open: async (signal) => McpConnection.open(address, options, signal),
      budget: source.budgets.listing,
      rules: this.#rulesOf(source),
      fileCache: new UnverifiedFiles(source, reading),
      archives: source.packed === 'read' ? new ArchiveFiles(source, { ...reading, spendings }) : undefined,
      clock,
      onNews: (how) => {
        if (how === 'told') known.expire()
        this.#onNews(source.id)
      },
    })
  }

  #rulesOf(source: McpSource): LookRules {
    const { log, limits, reader } = this.#parts
    const { skill, frontmatter, fetch } = limits
    const told = new Set<string>()
    // Before a person has approved a skill, nothing of it is read that was not requested.
    const isAllRead = source.fetching === 'all' && source.approval === 'none'
    return {
      skill,
      frontmatter,
      reader,
      fileBytes: source.budgets.fileBytes,
      connectMs: fetch.connectMs,
      named: () => this.#namedOf(source),
      isWanted: selector(source),
      isMeasured: (uri) => isAllRead || this.#decidedOf(source).get(uri)?.measured === true,
      takesDynamic: source.unverifiable === 'serve',
      onOddity: (message) => {
        // Each check would report the same.
        if (!told.has(message) && told.size < MOST_TOLD) log.warn('server-odd', { source: source.id, message })
        told.add(message)
      },
    }
  }

  /** The skills named by the configuration and by later decisions. */
  #namedOf(source: McpSource): readonly NamedSkill[] {
    const decided = this.#decidedOf(source)
    const named = new Map(source.uris.map(({ uri, isUnverified }) => [uri, isUnverified]))
    for (const [uri, { unverified }] of decided) named.set(uri, unverified === true || named.get(uri) === true)
    return [...named].map(([uri, isUnverified]) => ({ uri, isUnverified }))
  }

  #decidedOf({ id }: McpSource): ReadonlyMap<string, NameRule> {
    const { namings } = this.#parts.store.decisions
    return new Map(namings.flatMap((naming) => (naming.on.source === id ? [[naming.on.uri, naming]] : [])))
  }

  #addressOf({ programEnv = {} }: ConfiguredSource, { place }: McpSource): McpAddress {
    if (place.kind === 'http') return place
    const { environment, redactor } = this.#parts
    const { path, homeVariable } = environment
    return {
      ...place,
      path,
      home: homeVariable.HOME ?? '/',
      env: async () => programVariables(programEnv, environment, redactor),
    }
  }
}

/** A server can be odd in another way each time. */
const MOST_TOLD = 16

interface FirstReadsParts {
  readonly files: UpstreamFiles
  readonly known: FirstReadRecord
  readonly metered: BudgetedReads
  readonly texts: UpstreamTexts
}

/**
 * The files of one server that declares no digests. Each read counts until the next scheduled check, or until the
 * server notifies of a change.
 */
class UnverifiedFiles implements FileCache {
  readonly #source: McpSource
  readonly #parts: FirstReadsParts

  constructor(source: McpSource, parts: FirstReadsParts) {
    this.#source = source
    this.#parts = parts
  }

  async read(file: UnreadFile, wants: 'bytes' | 'digest', fetch: () => Promise<ResourceContents>): Promise<CachedFile> {
    const { known, metered } = this.#parts
    const found = await this.#knownOf(file)
    const kept = found !== undefined && known.isFresh(found, file) ? await this.#kept(file, found, wants) : undefined
    if (kept !== undefined) return kept
    const refusal = await metered.spend(file)
    // A notification from here on may concern content newer than this fetch.
    const atMs = known.nowMs()
    if (refusal === undefined) return this.#keepFetched(file, await fetch(), atMs)
    // Served content is not withdrawn because a budget forbids reading it again for up to an hour.
    const stale = found && (await this.#kept(file, found, wants))
    return stale ?? { ok: false, rule: 'not-read', why: refusal }
  }

  async isKnown(file: UnreadFile): Promise<boolean> {
    return (await this.#parts.known.of(file.uri, file)) !== undefined
  }

  async settle(unanswered: ReadonlySet<string>): Promise<void> {
    await this.#parts.known.settle((uri) =>
      [...foldersAbove(pathOfUri(uri) ?? '')].some((path) => unanswered.has(path)),
    )
  }

  async #knownOf(file: UnreadFile): Promise<Pick<KnownRead, 'sha256' | 'size' | 'atMs'> | undefined> {
    const known = await this.#parts.known.of(file.uri, file)
    const { sha256, size } = file
    return sha256 !== undefined && size !== undefined ? { sha256, size, atMs: Infinity } : known
  }

  async #kept(
    { uri }: UnreadFile,
    { sha256, size }: Pick<KnownRead, 'sha256' | 'size'>,
    wants: 'bytes' | 'digest',
  ): Promise<CachedFile | undefined> {
    if (wants === 'digest') return { ok: true, sha256, size, bytes: undefined }
    const kept = await this.#parts.files.read(this.#source.id, { sha256, size })
    if (kept.kind !== 'whole') return undefined
    await this.#learn(uri, sha256, kept.bytes)
    return { ok: true, sha256, size, bytes: kept.bytes }
  }

  async #keepFetched(file: UnreadFile, sent: ResourceContents, atMs: number): Promise<CachedFile> {
    const { files, known, metered } = this.#parts
    const fetched = metered.check(file, sent)
    if (!fetched.ok) return fetched
    const { sha256, bytes } = fetched
    const size = bytes.byteLength
    await this.#learn(file.uri, sha256, bytes)
    await files.keep(this.#source.id, sha256, bytes)
    await known.remember(file.uri, { sha256, size, said: file.said, atMs })
    return { ok: true, sha256, size, bytes }
  }

  /** Searches the text before an entry exists that could be served. */
  async #learn(uri: string, sha256: string, bytes: Uint8Array): Promise<void> {
    const path = uri.endsWith('/SKILL.md') ? 'SKILL.md' : uri
    await this.#parts.texts.learn(this.#source, { path, sha256, called: uri }, bytes)
  }
}
