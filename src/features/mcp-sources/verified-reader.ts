import { ignoreAbort } from '../../base/async/abort-error.ts'
import { joinPath } from '../../base/paths.ts'
import { traceIds } from '../../base/trace-context.ts'
import type { TraceContext } from '../../base/trace-context.ts'
import { configuredIn } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import { readKept } from '../../daemon/pull/stored-file.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import type { StoredLocation, UnreadContent } from '../../serve/content.ts'
import { declarationOf } from '../../sync/model/decisions/approvals.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { offlineError, SyncError } from '../../sync/model/sync-error.ts'
import { upstreamUriOf } from '../../sync/model/uris/upstream-uri.ts'
import { frontmatterBy } from '../../sync/skill/document-reader.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import { mismatchOf } from '../../sync/survey/verify-file.ts'
import { Overlong } from './client/channel.ts'
import type { FetchBudget } from './fetch-budget.ts'
import { figuresOf } from './known-mismatches.ts'
import type { Came, KnownMismatches } from './known-mismatches.ts'
import { declaredSkills } from './listing/listing-skills.ts'
import type { McpConnections } from './mcp-connections.ts'
import { ContentMismatch, SkillRefused, TextRefused, unreadOf } from './refused-skill.ts'
import type { UpstreamTexts } from './upstream-texts.ts'
import type { ResourceContents } from './upstream/contents.ts'
import type { McpServer } from './upstream/server.ts'

export interface UpstreamContentsParts extends Pick<DaemonContext, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly servers: McpConnections
  readonly reader: DocumentReader
  readonly spendings: FetchBudget
  readonly texts: UpstreamTexts
  readonly mismatches: KnownMismatches
  /** Applies the findings in the files of the source to the served skills. */
  readonly judge: (source: McpSource) => Promise<void>
  /** Called when a file was stored. */
  readonly onStored: (source: SourceId) => void
}

/**
 * The files of skills of other MCP servers, read from the store, or else fetched and checked before they are given out.
 */
export class VerifiedReader {
  readonly #parts: UpstreamContentsParts
  readonly #stop = new AbortController()
  /**
   * The fetches in flight. All requests for the same file of the same skill share one. The key includes the skill, so
   * that faults of one skill do not affect another.
   */
  readonly #asked = new Map<string, Promise<Uint8Array>>()
  /** The failed fetches, each with the time until which its error is the answer. */
  readonly #denied = new Map<string, { readonly untilMs: number; readonly error: SyncError }>()

  #refetch: (source: SourceId) => Promise<unknown> = async () => undefined

  constructor(parts: UpstreamContentsParts) {
    this.#parts = parts
  }

  /**
   * Calls `refetch` from now on if a source is to be pulled again: its declaration has changed, or its content does not
   * match the declaration. Resolves when that pull has ended.
   */
  onOutdated(refetch: (source: SourceId) => Promise<unknown>): void {
    this.#refetch = refetch
  }

  /** True for a skill whose files are not given out, by what is known at this moment. */
  isRefused(kept: StoredLocation): boolean {
    const { mismatches } = this.#parts
    return isOfUpstream(kept) && mismatches.knownRefusalOf(kept) !== undefined
  }

  /** The bytes, or the reason why they are not available. */
  async read(skill: UpstreamSkill, file: SkillFile, trace?: TraceContext): Promise<Uint8Array | UnreadContent> {
    const { log } = this.#parts
    const { source } = skill.upstream
    try {
      return await this.bring(skill, file, trace)
    } catch (error) {
      // It was reported when it was found.
      if (error instanceof SkillRefused) return error.unread
      if (error instanceof SyncError)
        log.failure('warn', 'content-not-fetched', {
          source,
          code: error.code,
          message: error.message,
          ...traceIds(trace),
        })
      else ignoreAbort(error)
      return error instanceof SyncError ? unreadOf(error, skill) : 'not-now'
    }
  }

  /** Reads a file like `read`, but throws a `SyncError` if it is not available. */
  async bring(skill: UpstreamSkill, file: SkillFile, trace?: TraceContext): Promise<Uint8Array> {
    const { config } = this.#parts
    const { source } = configuredIn(config, skill.upstream.source)
    if (source.kind !== 'mcp') throw new TypeError(`"${source.id}" is not an MCP server`)
    await this.#expectReadable(skill, source)
    const bytes = await this.#had(skill, file, trace)
    await this.#search(skill, file, source, bytes)
    await this.#expectReadable(skill, source)
    return bytes
  }

  /** Searches a text for hidden characters. What is found is applied to what is served. */
  async #search(skill: UpstreamSkill, file: SkillFile, source: McpSource, bytes: Uint8Array): Promise<void> {
    const { texts, judge } = this.#parts
    const text = { path: file.path, sha256: file.sha256, called: joinPath(skill.path, file.path) }
    // The caller does not wait for this; the outcome is reported like any other.
    if (await texts.learn(source, text, bytes, this.#stop.signal))
      void judge(source).catch((error: unknown) => this.#unlessPassing(error, source.id))
  }

  /** A disk that fails for a moment is reported; the next pull of the source does what was not done. */
  #unlessPassing(error: unknown, source: SourceId): void {
    if (!(error instanceof SyncError)) return ignoreAbort(error)
    const { code, message } = error
    this.#parts.log.failure('warn', 'content-not-fetched', { source, code, message })
  }

  /** Throws if any file of the skill is refused: then no file of it is given out. */
  async #expectReadable(skill: UpstreamSkill, source: McpSource): Promise<void> {
    const { texts, mismatches } = this.#parts
    const finding = await texts.refusalOf(skill, source)
    if (finding !== undefined) throw new TextRefused(skill, finding)
    const mismatch = await mismatches.refusalOf(skill)
    if (mismatch !== undefined) throw mismatch
  }

  /** The declared bytes, from the store or from the server. */
  async #had(skill: UpstreamSkill, file: SkillFile, trace: TraceContext | undefined): Promise<Uint8Array> {
    const { log } = this.#parts
    const { source } = skill.upstream
    const kept = await readKept(skill, file, this.#parts, this.#stop.signal)
    if (kept.kind === 'whole') return kept.bytes
    if (kept.kind === 'damaged')
      log.warn('content-damaged', { source, skill: skill.path, message: `"${file.path}": ${kept.why}` })
    return this.#asking(skill, file, trace)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled(this.#asked.values())
  }

  /** Requests that share a fetch do not appear in the server's trace, because the fetch happens only once. */
  async #asking(skill: UpstreamSkill, file: SkillFile, trace: TraceContext | undefined): Promise<Uint8Array> {
    const key = JSON.stringify([skill.upstream.source, declarationOf(skill), skill.path, file.path])
    const running = this.#asked.get(key)
    if (running !== undefined) return running
    // A refused client gets several answers here, and each of them would fetch again.
    const denied = this.#denied.get(key)
    if (denied !== undefined && denied.untilMs > this.#parts.clock.monotonicMs()) throw denied.error
    const asked = this.#ask(skill, file, trace)
    this.#asked.set(key, asked)
    try {
      return await asked
    } catch (error) {
      // A refused skill is rejected before the fetch, so its error is not cached.
      if (error instanceof SyncError && !(error instanceof SkillRefused)) this.#deny(key, error)
      throw error
    } finally {
      this.#asked.delete(key)
    }
  }

  #deny(key: string, error: SyncError): void {
    const nowMs = this.#parts.clock.monotonicMs()
    for (const [other, { untilMs }] of this.#denied) if (untilMs <= nowMs) this.#denied.delete(other)
    this.#denied.set(key, { untilMs: nowMs + DENIED_MS, error })
  }

  async #ask(skill: UpstreamSkill, file: SkillFile, trace: TraceContext | undefined): Promise<Uint8Array> {
    const { store, log, config, servers, spendings, reader } = this.#parts
    const { source: id } = skill.upstream
    const configured = configuredIn(config, id)
    const { source } = configured
    if (source.kind !== 'mcp') throw new TypeError(`"${id}" is not an MCP server`)
    if (config.mode.offline) throw notReadBefore(file)
    const server = servers.at(configured, source)
    if (skill.upstream.archive !== undefined) return this.#reread(skill, file, skill.upstream.archive, server)
    await spendings.spend(source, file.size)
    const sent = await this.#sent(skill, file, server, trace)
    const at = { source, server }
    if ('why' in sent) {
      const why = `"${file.path}" is not what is declared: ${sent.why}`
      throw sent.isTooLarge === true
        ? await this.#withhold(skill, file, at, { why, came: undefined })
        : await this.#refresh(skill, at, why)
    }
    const why = await mismatchOf(skill, file, sent.bytes, (bytes) =>
      frontmatterBy(reader, bytes, config.limits.frontmatter, this.#stop.signal),
    )
    if (why !== undefined) throw await this.#withhold(skill, file, at, { why, came: figuresOf(sent.bytes) })
    // Before it is stored: a stored file can be put into a folder, without another read.
    await this.#search(skill, file, at.source, sent.bytes)
    await store.upstreams.keep(id, file.sha256, sent.bytes)
    this.#parts.onStored(id)
    log.recovery('content-not-fetched', id)
    return sent.bytes
  }

  /** Reads a file from the server, and bills the bytes beyond the declared size. */
  async #sent(
    skill: UpstreamSkill,
    file: SkillFile,
    server: McpServer,
    trace?: TraceContext,
  ): Promise<ResourceContents> {
    const { spendings } = this.#parts
    const { source } = skill.upstream
    try {
      const sent = await server.read(upstreamUriOf(skill, file), file.size, this.#stop.signal, trace)
      if ('why' in sent) spendings.addBeyond(source, file.size, sent.came)
      return sent
    } catch (error) {
      if (!(error instanceof Overlong)) throw error
      spendings.addBeyond(source, file.size, error.came)
      if (error.came <= MOST_ESCAPED * file.size + MOST_AROUND) throw error
      return { why: error.message, came: error.came, isTooLarge: true }
    }
  }

  /** Reads the archive again, because the server offers the file only in the archive. */
  async #reread(skill: UpstreamSkill, file: SkillFile, archive: string, server: McpServer): Promise<Uint8Array> {
    const { log } = this.#parts
    const { source } = skill.upstream
    await server.reread(archive, this.#stop.signal)
    const kept = await readKept(skill, file, this.#parts, this.#stop.signal)
    if (kept.kind !== 'whole') {
      // The caller does not wait for this; the outcome is reported like any other.
      void this.#refetch(source).catch(ignoreAbort)
      throw notGiven(skill, `"${file.path}" could not be had from its archive again`)
    }
    this.#parts.onStored(source)
    log.recovery('content-not-fetched', source)
    return kept.bytes
  }

  /**
   * Withholds a skill of which other bytes arrived. It is out of service before the server is queried again, so that
   * the server's next answer decides nothing.
   */
  async #withhold(skill: UpstreamSkill, file: SkillFile, at: Asked, { why, came }: Belied): Promise<SyncError> {
    await this.#parts.mismatches.withhold(skill, at.source, why)
    void this.#forgetIfExplained(skill, file, at, came).catch((error: unknown) =>
      this.#unlessPassing(error, at.source.id),
    )
    return new ContentMismatch(skill, why)
  }

  /** Clears the mismatch if the listing was outdated, that is, if the server now declares what it sent. */
  async #forgetIfExplained(skill: UpstreamSkill, file: SkillFile, at: Asked, came: Came): Promise<void> {
    const { mismatches } = this.#parts
    if (await this.#isSame(skill, at).catch(falseIfSyncError)) return
    await this.#refetch(skill.upstream.source)
    await mismatches.forgetExplained(skill, file, came)
  }

  /**
   * Handles an answer without bytes. It says nothing about the content, so the next read queries the server again. But
   * the listing may be outdated.
   */
  async #refresh(skill: UpstreamSkill, at: Asked, why: string): Promise<SyncError> {
    // A listing for each such answer would be one a second, as long as requests arrive.
    if (await this.#isSame(skill, at)) return notGiven(skill, why)
    // The caller does not wait for this; the outcome is reported like any other.
    void this.#refetch(at.source.id).catch(ignoreAbort)
    return notGiven(skill, why)
  }

  /** Queries the server for the entry. True if it still declares the same. */
  async #isSame(skill: UpstreamSkill, { source, server }: Asked): Promise<boolean> {
    const { signal } = this.#stop
    const entry = await server.entry(skill.upstream.uri, signal)
    const rules = { selection: source, limits: this.#parts.config.limits }
    const [now] = (await declaredSkills(source.id, [entry], rules, signal)).skills
    return now !== undefined && declarationOf(now) === declarationOf(skill)
  }
}

/** The server that is queried. */
interface Asked {
  readonly source: McpSource
  readonly server: McpServer
}

interface Belied {
  readonly why: string
  readonly came: Came
}

/** If the server cannot be queried, its declaration does not count as the same. */
function falseIfSyncError(error: unknown): false {
  if (!(error instanceof SyncError)) throw error
  return false
}

function notGiven({ path, upstream }: UpstreamSkill, why: string): SyncError {
  return new SyncError('content-refused', `Cannot give out a file of "${upstream.source}/${path}": ${why}`)
}

function notReadBefore({ path }: SkillFile): SyncError {
  return offlineError(`Cannot read "${path}": it was not read before, and`)
}

/** The maximum of JSON characters for one byte of text, and the allowance for what surrounds the text. */
const MOST_ESCAPED = 6
const MOST_AROUND = 2 ** 20

/** Long enough for one request, short enough not to affect the next one. */
const DENIED_MS = 1_000
