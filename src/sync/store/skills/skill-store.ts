import type { SkillFile } from '../../model/skill.ts'
import type { SourceId } from '../../model/source-id.ts'
import { Damaged, SyncError } from '../../model/sync-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { calledOf, checkDigest, checkPath, checkStorable } from './stored-path.ts'
import type { StoredSkill } from './stored-path.ts'
import type { UpstreamFiles } from './upstream-files.ts'

/** A file of a stored skill that is not what it was, and why. */
export interface FileDamage {
  readonly path: string
  readonly problem: string
}

/**
 * The files of skill versions and of docs folders: each is an object, however many versions and sources have it. Those of
 * another MCP server are read from what was fetched from there.
 */
export class SkillStore {
  readonly #objects: ObjectStore
  readonly #upstreams: UpstreamFiles

  constructor(objects: ObjectStore, upstreams: UpstreamFiles) {
    this.#objects = objects
    this.#upstreams = upstreams
  }

  /**
   * Throws unless each skill can be served: its paths lead to no place outside of it, its digest is that of its files,
   * and the store has them. `Damaged` if it lacks one.
   */
  async expectWhole(skills: readonly StoredSkill[]): Promise<void> {
    for (const skill of skills) {
      this.expectStorable(skill)
      checkDigest(skill)
    }
    const digests = new Set(skills.flatMap(({ files }) => files.map(({ sha256 }) => sha256)))
    const missing = new Set(await this.#objects.missing(digests))
    for (const skill of missing.size === 0 ? [] : skills) {
      const file = skill.files.find(({ sha256 }) => missing.has(sha256))
      if (file !== undefined) throw new Damaged(`Cannot keep "${file.path}" of the ${calledOf(skill)}: it is gone`)
    }
  }

  /** Throws `content-refused` unless the skill's paths lead to places below its own folder, each to another one. */
  expectStorable(skill: StoredSkill): void {
    checkStorable(skill)
  }

  /** Returns the verified bytes of a file. Throws `Damaged` if it is damaged or gone. */
  async read(skill: StoredSkill, file: SkillFile): Promise<Buffer> {
    checkPath(skill, file.path)
    if (skill.upstream !== undefined) return this.#fetched(skill, skill.upstream, file)
    const bytes = await this.#objects.get(file.sha256)
    if (bytes === undefined) throw new Damaged(`Cannot read "${file.path}" of the ${calledOf(skill)}: it is gone`)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  async #fetched(skill: StoredSkill, upstream: SourceId, file: SkillFile): Promise<Buffer> {
    const kept = await this.#upstreams.read(upstream, file)
    if (kept.kind === 'whole') return Buffer.from(kept.bytes)
    const why = kept.kind === 'absent' ? 'it is not fetched' : kept.why
    throw new Damaged(`Cannot read "${file.path}" of the ${calledOf(skill)} from "${upstream}": ${why}`)
  }

  /** Reads every file of the skill, and returns those that are damaged or gone. */
  async damageIn(skill: StoredSkill): Promise<readonly FileDamage[]> {
    const damage: FileDamage[] = []
    for (const file of skill.files) {
      const problem = await this.#problemOf(file)
      if (problem !== undefined) damage.push({ path: file.path, problem })
    }
    return damage
  }

  async #problemOf({ sha256 }: SkillFile): Promise<string | undefined> {
    try {
      return (await this.#objects.get(sha256)) === undefined ? 'it is gone' : undefined
    } catch (error) {
      if (error instanceof Damaged) return 'its SHA-256 is another'
      if (error instanceof SyncError) return error.message
      throw error
    }
  }
}
