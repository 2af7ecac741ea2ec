import type { Unread } from '../serve/content.ts'
import { declaredSkills } from '../sync/declared.ts'
import { declarationOf } from '../sync/model/approvals.ts'
import type { Finding } from '../sync/model/finding.ts'
import { frontmatterBy } from '../sync/model/document-reader.ts'
import type { DocumentReader } from '../sync/model/document-reader.ts'
import { upstreamUriOf } from '../sync/model/upstream-uri.ts'
import { joinPath } from '../sync/model/paths.ts'
import type { SkillFile, UpstreamNames, UpstreamSkill } from '../sync/model/skill.ts'
import type { McpSource } from '../sync/model/source.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { traceIds } from '../sync/model/trace-context.ts'
import type { TraceContext } from '../sync/model/trace-context.ts'
import { mismatchOf } from '../sync/verify-declared.ts'
import { Overlong } from '../sync/upstream/mcp/channel.ts'
import type { McpServer } from '../sync/upstream/mcp/server.ts'
import { ignoreAbort } from './abort-error.ts'
import { configuredIn } from './config.ts'
import type { Config } from './config.ts'
import { readKept } from './kept-file.ts'
import type { Parts } from './parts.ts'
import type { Servers } from './servers.ts'
import type { Spendings } from './spendings.ts'
import type { UpstreamTexts } from './upstream-texts.ts'

export interface UpstreamContentsParts extends Pick<Parts, 'store' | 'log' | 'clock'> {
  readonly config: Config
  readonly servers: Servers
  readonly reader: DocumentReader
  readonly spendings: Spendings
  readonly texts: UpstreamTexts
  /** The source is to be taken anew: what it declares is another than before, or is not what it sends. */
  readonly retake: (source: UpstreamNames['source']) => Promise<unknown>
  /** A text of the source was found to hold what people do not see. */
  readonly rejudge: (source: UpstreamNames['source']) => Promise<unknown>
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

  /** The bytes; undefined if they are not those that were declared. */
  async read(skill: UpstreamSkill, file: SkillFile, trace?: TraceContext): Promise<Uint8Array | Unread> {
    const { log } = this.#parts
    const { source } = skill.upstream
    try {
      return await this.bring(skill, file, trace)
    } catch (error) {
      // It was told when it was found.
      if (error instanceof TextRefused) return { kind: 'refused', why: error.message }
      if (error instanceof SyncError)
        log.failure('warn', 'content-not-fetched', {
          source,
          code: error.code,
          message: error.message,
          ...traceIds(trace),
        })
      else ignoreAbort(error)
      return error instanceof SyncError && error.code === 'content-refused' ? undefined : 'not-now'
    }
  }

  /** The same, and a `SyncError` where they cannot be had. */
  async bring(skill: UpstreamSkill, file: SkillFile, trace?: TraceContext): Promise<Uint8Array> {
    const { config, texts, rejudge } = this.#parts
    const { source } = configuredIn(config, skill.upstream.source)
    if (source.kind !== 'mcp') throw new TypeError(`"${source.id}" is no MCP server`)
    await this.#expectReadable(skill, source)
    const bytes = await this.#had(skill, file, trace)
    const text = { path: file.path, sha256: file.sha256, called: joinPath(skill.path, file.path) }
    // Whoever asked for the file is not kept waiting; the outcome is reported like any other.
    if (await texts.learn(source, text, bytes, this.#stop.signal)) void rejudge(source.id).catch(ignoreAbort)
    await this.#expectReadable(skill, source)
    return bytes
  }

  /** A skill is one with its texts: where one of them is refused, none is given out. */
  async #expectReadable(skill: UpstreamSkill, source: McpSource): Promise<void> {
    const finding = await this.#parts.texts.refusalOf(skill, source)
    if (finding !== undefined) throw new TextRefused(skill, finding)
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
      if (error instanceof SyncError) this.#deny(key, error)
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
    const uri = upstreamUriOf(skill, file)
    const sent = await server.read(uri, file.size, this.#stop.signal, trace).catch((error: unknown) => {
      if (error instanceof Overlong) spendings.addBeyond(id, file.size, error.came)
      throw error
    })
    if ('why' in sent) {
      spendings.addBeyond(id, file.size, sent.came)
      const refusal = { why: `"${file.path}" is not what is declared: ${sent.why}`, isFinal: sent.isTooLarge === true }
      throw await this.#refreshed(skill, { source, server }, refusal)
    }
    const mismatch = await mismatchOf(skill, file, sent.bytes, (bytes) =>
      frontmatterBy(reader, bytes, config.limits.frontmatter, this.#stop.signal),
    )
    if (mismatch !== undefined) throw await this.#refreshed(skill, { source, server }, { why: mismatch, isFinal: true })
    await store.upstreams.keep(id, file.sha256, sent.bytes)
    log.recovery('content-not-fetched', id)
    return sent.bytes
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

  /**
   * The listing may be old: the server is asked for the entry once. Where it still declares the same, and other bytes came, the
   * skill is withheld. That none came is no word about the bytes: whoever asks next asks the server.
   */
  async #refreshed(
    skill: UpstreamSkill,
    { source, server }: { readonly source: McpSource; readonly server: McpServer },
    { why, isFinal }: { readonly why: string; readonly isFinal: boolean },
  ): Promise<SyncError> {
    const { store, log, config, retake } = this.#parts
    const { signal } = this.#stop
    const entry = await server.entry(skill.upstream.uri, signal)
    const rules = { selection: source, limits: config.limits }
    const [now] = (await declaredSkills(source.id, [entry], rules, signal)).skills
    const declaration = declarationOf(skill)
    const isSame = declaration !== undefined && now !== undefined && declarationOf(now) === declaration
    // A listing for each of them would be one a second, as long as somebody asks.
    if (isSame && !isFinal) return notGiven(skill, why)
    if (isSame) {
      await store.upstreams.addMismatch(source.id, declaration, why)
      log.warn('content-mismatch', { source: source.id, skill: skill.path, message: why })
    }
    // Whoever asked for the file is not kept waiting; the outcome is reported like any other.
    void retake(source.id).catch(ignoreAbort)
    return notGiven(skill, why)
  }
}

/** A text of the skill holds what people do not see, and the policy of its source withholds the skill for it. */
export class TextRefused extends SyncError {
  constructor({ path, upstream }: UpstreamSkill, finding: Finding) {
    const why = `"${finding.path}": ${finding.message}`
    super('content-refused', `Cannot give out a file of "${upstream.source}/${path}": ${why}`)
  }
}

function notGiven({ path, upstream }: UpstreamSkill, why: string): SyncError {
  return new SyncError('content-refused', `Cannot give out a file of "${upstream.source}/${path}": ${why}`)
}

function notReadBefore({ path }: SkillFile): SyncError {
  const message = `Cannot read "${path}": nobody read it before, and --offline lets nobody be asked`
  return new SyncError('source-unreachable', message)
}

/** Long enough for one request, short enough that the next one is none the worse for it. */
const DENIED_MS = 1_000
