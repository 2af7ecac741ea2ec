import { isAbortError } from '../../base/async/abort-error.ts'
import type { Log } from '../../base/log.ts'
import { configuredIn } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import { askRunning } from '../../daemon/control/running-daemon.ts'
import { readKept } from '../../daemon/pull/stored-file.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import type { RefusedFile, UnreadContent } from '../../serve/content.ts'
import type { SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { knownOf } from '../../sync/store/skills/listing-mismatches.ts'
import type { Store } from '../../sync/store/store.ts'
import { hiddenInText, refusalIn, textKeyOf } from '../../sync/survey/listing-hidden-text.ts'
import { bringRequest } from './file-requests.ts'
import { ContentMismatch, TextRefused } from './refused-skill.ts'

export interface AskedFileParts {
  readonly config: Config
  readonly store: Store
  readonly signal: AbortSignal
  readonly log: Log
}

/** Files of skills of other MCP servers, for a process that writes nothing. */
export class RemoteFiles {
  readonly #parts: AskedFileParts
  /** The keys of texts that were searched for hidden characters here, and have none. */
  readonly #plain = new Set<string>()

  constructor(parts: AskedFileParts) {
    this.#parts = parts
  }

  /**
   * Reads a file from the store. If it is not there, requests it from the process that writes the store. Returns the
   * reason if it is not available.
   */
  async read(skill: UpstreamSkill, file: SkillFile): Promise<Uint8Array | UnreadContent> {
    const { config, signal } = this.#parts
    const { source } = skill.upstream
    try {
      const kept = await this.#kept(skill, file)
      if (kept !== 'not-now') return kept
      await askRunning(
        config,
        bringRequest,
        { source, path: skill.path, file: file.path },
        { signal, timeoutMs: WAIT_MS },
      )
      return await this.#kept(skill, file)
    } catch (error) {
      if (!(error instanceof OperatorError) && !(error instanceof SyncError) && !isAbortError(error)) throw error
      return this.#unread(skill, error)
    }
  }

  async #kept(skill: UpstreamSkill, file: SkillFile): Promise<Uint8Array | RefusedFile | 'not-now'> {
    const { signal, ...parts } = this.#parts
    const kept = await readKept(skill, file, parts, signal)
    const belied = await this.#mismatchOf(skill)
    if (belied !== undefined) return belied
    if (kept.kind !== 'whole') return 'not-now'
    return this.#refusal(skill, file, kept.bytes) ?? kept.bytes
  }

  /** The writer's reason, if it concerns the file. */
  async #unread(skill: UpstreamSkill, error: Error): Promise<UnreadContent> {
    const { source } = skill.upstream
    if (!('code' in error) || typeof error.code !== 'string') return 'not-now'
    const { code, message } = error
    this.#parts.log.failure('warn', 'content-not-fetched', { source, code, message })
    if (code === 'content-refused') return (await this.#refusalOf(skill)) ?? { kind: 'refused', why: message }
    return code === 'limit-exceeded' ? { kind: 'refused', why: message } : 'not-now'
  }

  /** `undefined` if no such refusal is recorded. */
  async #refusalOf(skill: UpstreamSkill): Promise<RefusedFile | undefined> {
    const { store, config } = this.#parts
    const { source } = configuredIn(config, skill.upstream.source)
    const finding = refusalIn(skill, await store.upstreams.texts(source.id), source.hiddenUnicode)
    return finding === undefined ? this.#mismatchOf(skill) : new TextRefused(skill, finding).unread
  }

  /** Returns the refusal that the writer recorded. It counts at once, and not from the next generation. */
  async #mismatchOf(skill: UpstreamSkill): Promise<RefusedFile | undefined> {
    const why = knownOf(skill, await this.#parts.store.upstreams.mismatches(skill.upstream.source))
    return why === undefined ? undefined : new ContentMismatch(skill, why).unread
  }

  /** Searches the bytes again, by the `hidden_unicode` of this process. */
  #refusal(skill: UpstreamSkill, file: SkillFile, bytes: Uint8Array): RefusedFile | undefined {
    const key = textKeyOf(file)
    if (this.#plain.has(key)) return undefined
    const hidden = hiddenInText(file, bytes)
    if (hidden === undefined) {
      if (this.#plain.size < MOST_PLAIN) this.#plain.add(key)
      return undefined
    }
    const { source } = configuredIn(this.#parts.config, skill.upstream.source)
    const finding = refusalIn({ ...skill, files: [file] }, new Map([[key, hidden]]), source.hiddenUnicode)
    return finding && new TextRefused(skill, finding).unread
  }
}

/** The time that the server has for its answer. */
const WAIT_MS = 60_000

const MOST_PLAIN = 16_384
