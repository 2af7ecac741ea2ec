import { createHash } from 'node:crypto'
import { knownOf } from '../../sync/survey/listing-mismatches.ts'
import { declarationOf } from '../../sync/decisions/approvals.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { McpSource } from '../../sync/model/source.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { MOST_MISMATCHES } from '../../sync/store/skills/upstream-files.ts'
import type { Current } from '../../sync/model/snapshot.ts'
import type { Parts } from '../context.ts'
import { ContentMismatch } from './refused-skill.ts'

export interface UpstreamMismatchesParts extends Pick<Parts, 'store' | 'log'> {
  /** Says of what is served what was found in the files of a source: resolves when that is served. */
  readonly judge: (source: McpSource) => Promise<void>
  readonly currentOf: (id: SourceId) => Current | undefined
}

/** The bytes that came in place of a file; undefined where they were more than is declared, and not read to the end. */
export type Came = { readonly size: number; readonly sha256: string } | undefined

/** The figures of bytes that came. */
export function figuresOf(bytes: Uint8Array): NonNullable<Came> {
  return { size: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/**
 * Skills of other MCP servers of which other bytes came than are declared. From the moment that one is withheld nothing of it is
 * given out, whatever its server says then, until that declares something else.
 */
export class UpstreamMismatches {
  readonly #parts: UpstreamMismatchesParts
  readonly #known = new Map<SourceId, Map<string, string>>()

  constructor(parts: UpstreamMismatchesParts) {
    this.#parts = parts
  }

  /** The reason for which nothing of a skill is given out; undefined where there is none. */
  async refusalOf(skill: UpstreamSkill): Promise<ContentMismatch | undefined> {
    await this.#of(skill.upstream.source)
    return this.knownRefusalOf(skill)
  }

  /** The same, by what was read from the disk before. */
  knownRefusalOf(skill: UpstreamSkill): ContentMismatch | undefined {
    const why = knownOf(skill, this.#known.get(skill.upstream.source) ?? NONE)
    return why === undefined ? undefined : new ContentMismatch(skill, why)
  }

  /** Gives out nothing of the skill from now on, and resolves when it is out of service: the read that found it is answered then. */
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
   * Forgets it where the server changed the skill and our listing was old: it declares something else by now, and the file to be
   * what came.
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

  /** Takes the skill for what is declared of it once more. */
  async forget(source: SourceId, skill: Skill): Promise<void> {
    const declaration = declarationOf(skill)
    if (declaration === undefined) return
    await this.#parts.store.upstreams.dropMismatch(source, declaration)
    const known = await this.#of(source)
    known.delete(declaration)
  }

  async #of(source: SourceId): Promise<Map<string, string>> {
    const known = this.#known.get(source) ?? new Map(await this.#parts.store.upstreams.mismatches(source))
    // Another may have read it meanwhile, and found more since.
    const first = this.#known.get(source) ?? known
    this.#known.set(source, first)
    return first
  }
}

const NONE: ReadonlyMap<string, string> = new Map()

/** Forgets the oldest where there are too many: it is found again at the next reading. */
function remember(known: Map<string, string>, declaration: string, why: string): void {
  known.delete(declaration)
  known.set(declaration, why)
  const [oldest] = known.keys()
  if (oldest !== undefined && known.size > MOST_MISMATCHES) known.delete(oldest)
}
