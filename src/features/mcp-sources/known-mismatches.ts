import { createHash } from 'node:crypto'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { declarationOf } from '../../sync/model/decisions/approvals.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { knownOf } from '../../sync/store/skills/listing-mismatches.ts'
import { MOST_MISMATCHES } from '../../sync/store/skills/upstream-files.ts'
import { ContentMismatch } from './refused-skill.ts'

export interface UpstreamMismatchesParts extends Pick<DaemonContext, 'store' | 'log'> {
  /** Applies the findings in the files of a source to the served skills. Resolves when the result is served. */
  readonly judge: (source: McpSource) => Promise<void>
  readonly currentOf: (id: SourceId) => ServedSource | undefined
}

/**
 * The bytes that arrived instead of a file; `undefined` if they exceeded the declared size and were not read to the
 * end.
 */
export type Came = { readonly size: number; readonly sha256: string } | undefined

/** The size and digest of bytes that arrived. */
export function figuresOf(bytes: Uint8Array): NonNullable<Came> {
  return { size: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/**
 * The skills of other MCP servers of which other bytes arrived than declared. A withheld skill is not given out until
 * its server declares something else, whatever it sends in the meantime.
 */
export class KnownMismatches {
  readonly #parts: UpstreamMismatchesParts
  readonly #known = new Map<SourceId, Map<string, string>>()

  constructor(parts: UpstreamMismatchesParts) {
    this.#parts = parts
  }

  /** The reason why no file of a skill is given out; `undefined` if there is none. */
  async refusalOf(skill: UpstreamSkill): Promise<ContentMismatch | undefined> {
    await this.#of(skill.upstream.source)
    return this.knownRefusalOf(skill)
  }

  /** Finds the same reason without the disk, by what was read from it before. */
  knownRefusalOf(skill: UpstreamSkill): ContentMismatch | undefined {
    const why = knownOf(skill, this.#known.get(skill.upstream.source) ?? NONE)
    return why === undefined ? undefined : new ContentMismatch(skill, why)
  }

  /**
   * Withholds a skill from now on. Resolves when it is out of service; only then is the read that found the mismatch
   * answered.
   */
  async withhold(skill: UpstreamSkill, source: McpSource, why: string): Promise<void> {
    const { store, log, judge } = this.#parts
    const declaration = declarationOf(skill)
    if (declaration === undefined) return
    remember(await this.#of(source.id), declaration, why)
    log.warn('content-mismatch', { source: source.id, skill: skill.path, message: why })
    await store.upstreams.addMismatch(source.id, declaration, why)
    await judge(source)
  }

  /**
   * Clears the mismatch if our listing was outdated: the server now declares another skill, in which the file is what
   * arrived.
   */
  async forgetExplained(skill: UpstreamSkill, { path, size }: SkillFile, came: Came): Promise<void> {
    const { source } = skill.upstream
    const snapshot = this.#parts.currentOf(source)?.snapshot
    const now = snapshot?.skills.find((candidate) => candidate.path === skill.path)
    if (now === undefined || declarationOf(now) === declarationOf(skill)) return
    const file = now.files.find((candidate) => candidate.path === path)
    if (file === undefined) return
    const isExplained = came === undefined ? file.size > size : file.size === came.size && file.sha256 === came.sha256
    if (isExplained) await this.forget(source, skill)
  }

  /** Clears the mismatch of a skill, so that its declaration counts again. */
  async forget(source: SourceId, skill: Skill): Promise<void> {
    const declaration = declarationOf(skill)
    if (declaration === undefined) return
    await this.#parts.store.upstreams.dropMismatch(source, declaration)
    const known = await this.#of(source)
    known.delete(declaration)
  }

  async #of(source: SourceId): Promise<Map<string, string>> {
    const known = this.#known.get(source) ?? new Map(await this.#parts.store.upstreams.mismatches(source))
    // A concurrent call may have read it first, and found more since.
    const first = this.#known.get(source) ?? known
    this.#known.set(source, first)
    return first
  }
}

const NONE: ReadonlyMap<string, string> = new Map()

/** Adds a mismatch. Drops the oldest if there are too many; the next read finds it again. */
function remember(known: Map<string, string>, declaration: string, why: string): void {
  known.delete(declaration)
  known.set(declaration, why)
  const [oldest] = known.keys()
  if (oldest !== undefined && known.size > MOST_MISMATCHES) known.delete(oldest)
}
