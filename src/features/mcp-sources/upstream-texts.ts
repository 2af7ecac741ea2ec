import type { DaemonContext } from '../../daemon/runtime/context.ts'
import type { SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import type { HiddenText } from '../../sync/skill/hidden-unicode.ts'
import type { SkillDiagnostic } from '../../sync/skill/skill-diagnostic.ts'
import { refusalIn, textKeyOf } from '../../sync/survey/listing-hidden-text.ts'
import type { KnownTexts } from '../../sync/survey/listing-hidden-text.ts'

export interface UpstreamTextsParts extends Pick<DaemonContext, 'store' | 'log'> {
  readonly reader: DocumentReader
}

/** A file that arrived: its path in the skill, and its name at its origin. */
export interface ArrivedText extends Pick<SkillFile, 'path' | 'sha256'> {
  readonly called: string
}

/** Hidden characters in the files of other MCP servers. Each text is searched once, and the result is stored. */
export class UpstreamTexts {
  readonly #parts: UpstreamTextsParts
  readonly #known = new Map<SourceId, Map<string, HiddenText>>()
  /** The keys of recently searched texts without hidden characters. */
  readonly #plain = new Set<string>()
  readonly #searches = new Map<string, Promise<HiddenText | undefined>>()

  constructor(parts: UpstreamTextsParts) {
    this.#parts = parts
  }

  /** Searches a text that arrived. True if that found something new. */
  async learn(source: McpSource, text: ArrivedText, bytes: Uint8Array, signal = NEVER): Promise<boolean> {
    const key = textKeyOf(text)
    const known = await this.#of(source.id)
    if (known.has(key) || this.#plain.has(key)) return false
    const hidden = await this.#search(key, text, bytes, signal)
    if (hidden === undefined) this.#addPlain(key)
    if (hidden === undefined || known.has(key)) return false
    known.set(key, hidden)
    try {
      await this.#parts.store.upstreams.addText(source.id, key, hidden)
    } catch (error) {
      // The next read finds it again, and stores it then.
      known.delete(key)
      throw error
    }
    this.#tell(source, text, hidden)
    return true
  }

  /**
   * The finding for which no file of a skill is given out, by what is known of its texts; `undefined` if there is none.
   */
  async refusalOf(skill: UpstreamSkill, { id, hiddenUnicode }: McpSource): Promise<SkillDiagnostic | undefined> {
    const known: KnownTexts = await this.#of(id)
    return known.size === 0 ? undefined : refusalIn(skill, known, hiddenUnicode)
  }

  /** All callers with the same text share one search. */
  async #search(
    key: string,
    { path }: Pick<ArrivedText, 'path'>,
    bytes: Uint8Array,
    signal: AbortSignal,
  ): Promise<HiddenText | undefined> {
    const running = this.#searches.get(key) ?? this.#parts.reader.hiddenIn(path, bytes, signal)
    this.#searches.set(key, running)
    try {
      return await running
    } finally {
      this.#searches.delete(key)
    }
  }

  #addPlain(key: string): void {
    const [oldest] = this.#plain
    if (oldest !== undefined && this.#plain.size >= MOST_PLAIN) this.#plain.delete(oldest)
    this.#plain.add(key)
  }

  #tell({ id, hiddenUnicode }: McpSource, { called, ...text }: ArrivedText, hidden: HiddenText): void {
    const finding = refusalIn({ path: '', files: [text] }, new Map([[textKeyOf(text), hidden]]), hiddenUnicode)
    if (finding !== undefined)
      this.#parts.log.warn('content-withheld', { source: id, message: `"${called}": ${finding.message}` })
  }

  async #of(source: SourceId): Promise<Map<string, HiddenText>> {
    const known = this.#known.get(source) ?? new Map(await this.#parts.store.upstreams.texts(source))
    // A concurrent call may have read it first, and found more since.
    const first = this.#known.get(source) ?? known
    this.#known.set(source, first)
    return first
  }
}

/** 80 bytes each. */
const MOST_PLAIN = 16_384

const NEVER = new AbortController().signal
