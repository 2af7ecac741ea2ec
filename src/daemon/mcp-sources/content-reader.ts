import type { Stored, Unread } from '../../serve/content.ts'
import { declaredSkills } from '../../sync/survey/listing-skills.ts'
import { declarationOf } from '../../sync/decisions/approvals.ts'
import { frontmatterBy } from '../../sync/skill-md/document-reader.ts'
import type { DocumentReader } from '../../sync/skill-md/document-reader.ts'
import { upstreamUriOf } from '../../sync/model/upstream-uri.ts'
import { joinPath } from '../../base/paths.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { SkillFile, UpstreamNames, UpstreamSkill } from '../../sync/model/skill.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { traceIds } from '../../base/trace-context.ts'
import type { TraceContext } from '../../base/trace-context.ts'
import { mismatchOf } from '../../sync/survey/verify-listing.ts'
import { Overlong } from '../../sync/upstream/mcp/client/channel.ts'
import type { Contents } from '../../sync/upstream/mcp/contents.ts'
import type { McpServer } from '../../sync/upstream/mcp/server.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import { configuredIn } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import { readKept } from './stored-file.ts'
import type { Parts } from '../context.ts'
import { ContentMismatch, SkillRefused, TextRefused, unreadOf } from './refused-skill.ts'
import type { Servers } from './connections.ts'
import type { Spendings } from './fetch-budget.ts'
import { figuresOf } from './mismatches.ts'
import type { Came, UpstreamMismatches } from './mismatches.ts'
import type { UpstreamTexts } from './hidden-text.ts'

export interface UpstreamContentsParts extends Pick<Parts, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly servers: Servers
  readonly reader: DocumentReader
  readonly spendings: Spendings
  readonly texts: UpstreamTexts
  readonly mismatches: UpstreamMismatches
  /** The source is to be taken anew: what it declares is another than before, or is not what it sends. */
  readonly retake: (source: UpstreamNames['source']) => Promise<unknown>
  /** Says of what is served what was found in the files of the source. */
  readonly judge: (source: McpSource) => Promise<void>
}

/** Files of skills of other MCP servers: from the store, else asked for and checked before anybody is given them. */
export class UpstreamContents {
  readonly #parts: UpstreamContentsParts
  readonly #stop = new AbortController()
  /** What is asked for now: whoever wants the same file of the same skill waits for it. No skill has to do with the faults of another. */
  readonly #asked = new Map<string, Promise<Uint8Array>>()
  /** What could not be had, until when that is taken for the answer. */
  readonly #denied = new Map<string, { readonly untilMs: number; readonly error: SyncError }>()

  constructor(parts: UpstreamContentsParts) {
    this.#parts = parts
  }

  /** True of a skill that nothing is given out of, by what is known at this moment. */
  isRefused(kept: Stored): boolean {
    const { mismatches } = this.#parts
    return isOfUpstream(kept) && mismatches.knownRefusalOf(kept) !== undefined
  }

  /** The bytes, or why they cannot be had. */
  async read(skill: UpstreamSkill, file: SkillFile, trace?: TraceContext): Promise<Uint8Array | Unread> {
    const { log } = this.#parts
    const { source } = skill.upstream
    try {
      return await this.bring(skill, file, trace)
    } catch (error) {
      // It was told when it was found.
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

  /** The same, and a `SyncError` where they cannot be had. */
  async bring(skill: UpstreamSkill, file: SkillFile, trace?: TraceContext): Promise<Uint8Array> {
    const { config, texts, judge } = this.#parts
    const { source } = configuredIn(config, skill.upstream.source)
    if (source.kind !== 'mcp') throw new TypeError(`"${source.id}" is no MCP server`)
    await this.#expectReadable(skill, source)
    const bytes = await this.#had(skill, file, trace)
    const text = { path: file.path, sha256: file.sha256, called: joinPath(skill.path, file.path) }
    // Whoever asked for the file is not kept waiting; the outcome is reported like any other.
    if (await texts.learn(source, text, bytes, this.#stop.signal)) void judge(source).catch(ignoreAbort)
    await this.#expectReadable(skill, source)
    return bytes
  }

  /** A skill is one with its files: where one of them is refused, none is given out. */
  async #expectReadable(skill: UpstreamSkill, source: McpSource): Promise<void> {
    const { texts, mismatches } = this.#parts
    const finding = await texts.refusalOf(skill, source)
    if (finding !== undefined) throw new TextRefused(skill, finding)
    const mismatch = await mismatches.refusalOf(skill)
    if (mismatch !== undefined) throw mismatch
  }

  /** The bytes that are declared, from the store or from the server. */
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

  /** Those who wait for what another one asked for are in no trace of that server: it was asked once. */
  async #asking(skill: UpstreamSkill, file: SkillFile, trace: TraceContext | undefined): Promise<Uint8Array> {
    const key = JSON.stringify([skill.upstream.source, declarationOf(skill), skill.path, file.path])
    const running = this.#asked.get(key)
    if (running !== undefined) return running
    // A client that is refused is answered in more than one way here, each of which would ask.
    const denied = this.#denied.get(key)
    if (denied !== undefined && denied.untilMs > this.#parts.clock.monotonicMs()) throw denied.error
    const asked = this.#ask(skill, file, trace)
    this.#asked.set(key, asked)
    try {
      return await asked
    } catch (error) {
      // A skill that is refused is refused before it is asked for.
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
    if (source.kind !== 'mcp') throw new TypeError(`"${id}" is no MCP server`)
    if (config.mode.offline) throw notReadBefore(file)
    const server = servers.at(configured, source)
    if (skill.upstream.archive !== undefined) return this.#reread(skill, file, skill.upstream.archive, server)
    await spendings.spend(source, file.size)
    const sent = await this.#sent(skill, file, server, trace)
    const at = { source, server }
    if ('why' in sent) {
      const why = `"${file.path}" is not what is declared: ${sent.why}`
      throw sent.isTooLarge === true
        ? await this.#belied(skill, file, at, { why, came: undefined })
        : await this.#refreshed(skill, at, why)
    }
    const why = await mismatchOf(skill, file, sent.bytes, (bytes) =>
      frontmatterBy(reader, bytes, config.limits.frontmatter, this.#stop.signal),
    )
    if (why !== undefined) throw await this.#belied(skill, file, at, { why, came: figuresOf(sent.bytes) })
    await store.upstreams.keep(id, file.sha256, sent.bytes)
    log.recovery('content-not-fetched', id)
    return sent.bytes
  }

  /** Reads a file from the server, and bills what came beyond the declared size. */
  async #sent(skill: UpstreamSkill, file: SkillFile, server: McpServer, trace?: TraceContext): Promise<Contents> {
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

  /** The server has no such file: it is in an archive, of which all that can be had is read again. */
  async #reread(skill: UpstreamSkill, file: SkillFile, archive: string, server: McpServer): Promise<Uint8Array> {
    const { log, retake } = this.#parts
    const { source } = skill.upstream
    await server.reread(archive, this.#stop.signal)
    const kept = await readKept(skill, file, this.#parts, this.#stop.signal)
    if (kept.kind !== 'whole') {
      // Whoever asked for the file is not kept waiting; the outcome is reported like any other.
      void retake(source).catch(ignoreAbort)
      throw notGiven(skill, `"${file.path}" could not be had from its archive again`)
    }
    log.recovery('content-not-fetched', source)
    return kept.bytes
  }

  /** Other bytes came. What the server says next decides nothing: the skill is out of service before it is asked. */
  async #belied(skill: UpstreamSkill, file: SkillFile, at: Asked, { why, came }: Belied): Promise<SyncError> {
    await this.#parts.mismatches.withhold(skill, at.source, why)
    void this.#explained(skill, file, at, came).catch(ignoreAbort)
    return new ContentMismatch(skill, why)
  }

  /** The listing may have been old: then the server declares by now what it sent. */
  async #explained(skill: UpstreamSkill, file: SkillFile, at: Asked, came: Came): Promise<void> {
    const { mismatches, retake } = this.#parts
    if (await this.#isSame(skill, at).catch(unlessSyncError)) return
    await retake(skill.upstream.source)
    await mismatches.forgetExplained(skill, file, came)
  }

  /** An answer without bytes says nothing about them: the next read asks the server again. But the listing may be old. */
  async #refreshed(skill: UpstreamSkill, at: Asked, why: string): Promise<SyncError> {
    // A listing for each of them would be one a second, as long as somebody asks.
    if (await this.#isSame(skill, at)) return notGiven(skill, why)
    // Whoever asked for the file is not kept waiting; the outcome is reported like any other.
    void this.#parts.retake(at.source.id).catch(ignoreAbort)
    return notGiven(skill, why)
  }

  /** Asks the server for the entry once. True where it still declares the same. */
  async #isSame(skill: UpstreamSkill, { source, server }: Asked): Promise<boolean> {
    const { signal } = this.#stop
    const entry = await server.entry(skill.upstream.uri, signal)
    const rules = { selection: source, limits: this.#parts.config.limits }
    const [now] = (await declaredSkills(source.id, [entry], rules, signal)).skills
    return now !== undefined && declarationOf(now) === declarationOf(skill)
  }
}

/** The server that is asked. */
interface Asked {
  readonly source: McpSource
  readonly server: McpServer
}

interface Belied {
  readonly why: string
  readonly came: Came
}

/** A server that does not say what it declares declares nothing that would be the same. */
function unlessSyncError(error: unknown): false {
  if (!(error instanceof SyncError)) throw error
  return false
}

function notGiven({ path, upstream }: UpstreamSkill, why: string): SyncError {
  return new SyncError('content-refused', `Cannot give out a file of "${upstream.source}/${path}": ${why}`)
}

function notReadBefore({ path }: SkillFile): SyncError {
  const message = `Cannot read "${path}": nobody read it before, and --offline lets nobody be asked`
  return new SyncError('source-unreachable', message)
}

/** Characters of JSON that a byte of text takes at most, and what may stand around a text. */
const MOST_ESCAPED = 6
const MOST_AROUND = 2 ** 20

/** Long enough for one request, short enough that the next one is none the worse for it. */
const DENIED_MS = 1_000
