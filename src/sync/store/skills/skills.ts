import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { SkillFile } from '../../model/skill.ts'
import { Damaged } from '../../model/sync-error.ts'
import type { Claims } from '../files/gc-leases.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { inspect, type Inspection } from './inspect-skill.ts'
import { Keeping, type Origin } from './skill-writer.ts'
import { problemOf, readVerified } from './skill-file.ts'
import { namesIn, type StateFolder } from '../files/state-folder.ts'
import { calledOf, checkPath, checkStorable, isDigest } from './stored-path.ts'
import type { PathLimits, Place, StoredSkill } from './stored-path.ts'

/** What a folder was like: another when something came or went since, if the disk's clock went on before that. */
export interface FolderMark {
  readonly text: string
  /** By the wall clock. */
  readonly changedMs: number
}

/**
 * Skill versions, each once, under its content digest: `skills/<digest>/<name>/…`, never modified. Those of docs folders are
 * kept in the same way: `docs/<digest>/…`. Files are 0444 or 0555
 * against an agent's slip; folders stay 0755, or nobody but root could move or remove one, nor an agent leave its caches.
 */
export class SkillStore {
  readonly #state: StateFolder
  readonly #claims: Claims
  readonly #limits: PathLimits

  constructor(state: StateFolder, claims: Claims, limits: PathLimits) {
    this.#state = state
    this.#claims = claims
    this.#limits = limits
  }

  /** The absolute path that an agent is given. */
  folderOf(skill: StoredSkill): string {
    return this.#state.at(skill.place, skill.digest, skill.folderName)
  }

  /** Whether it is here, undamaged: every file is read. It stays for long enough to be published. */
  async has(skill: StoredSkill): Promise<boolean> {
    checkStorable(skill, this.#limits)
    await this.#claims.claim(skill.digest)
    return this.#isWhole(skill)
  }

  /** For skills that come one after the other, of so many bytes at the most. */
  keeping(mostBytes = Infinity): Keeping {
    return new Keeping({
      mostBytes,
      state: this.#state,
      claims: this.#claims,
      limits: this.#limits,
      isWhole: (skill) => this.#isWhole(skill),
      pathOf: (skill, path) => this.#pathOf(skill, path),
    })
  }

  /** `keepAll` for one. */
  async keep(skill: StoredSkill, bytesOf: (file: SkillFile) => Origin, signal: AbortSignal): Promise<void> {
    await this.keepAll([skill], (_, file) => bytesOf(file), signal)
  }

  /**
   * Writes those that are not here, or damaged, and asks `bytesOf` for no others. All are on the disk when this returns,
   * and if it throws, none is half there.
   */
  async keepAll(
    skills: readonly StoredSkill[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => Origin,
    signal: AbortSignal,
  ): Promise<void> {
    await using keeping = this.keeping()
    await keeping.add(skills, bytesOf, signal)
    await keeping.finish(skills, signal)
  }

  /** The bytes of a file, checked: wrong ones are never given out. Throws `Damaged` for one that is, or that is gone. */
  async read(skill: StoredSkill, file: SkillFile): Promise<Buffer> {
    const read = await readVerified(this.#pathOf(skill, file.path), file)
    if (Buffer.isBuffer(read)) return read
    throw new Damaged(`Cannot read "${file.path}" of the ${calledOf(skill)}: ${read.problem}`)
  }

  /** A look at all that lies at its place, right or not. */
  async inspect(skill: StoredSkill): Promise<Inspection> {
    checkStorable(skill, this.#limits)
    return inspect(this.#state.at(skill.place, skill.digest), skill)
  }

  /** Of all that are here. */
  async digests(place: Place = 'skills'): Promise<string[]> {
    return (await namesIn(this.#state.at(place))).filter(isDigest)
  }

  /** Undefined where the folder of all is gone. */
  async mark(place: Place): Promise<FolderMark | undefined> {
    const folder = this.#state.at(place)
    const found = await unlessAbsent(lstat(folder, { bigint: true })).catch(cannot(`look at "${folder}"`))
    return found && { text: `${found.ino} ${found.ctimeNs}`, changedMs: Number(found.ctimeMs) }
  }

  /** Takes one out and says where it lies now, for the caller to remove. Undefined where a pull may want it. */
  async setAside(digest: string, place: Place = 'skills'): Promise<string | undefined> {
    return this.#claims.remove(digest, () => this.#state.setAside(this.#state.at(place, digest)))
  }

  async #isWhole(skill: StoredSkill): Promise<boolean> {
    for (const file of skill.files) {
      if ((await problemOf(this.#pathOf(skill, file.path), file)) !== undefined) return false
    }
    return true
  }

  #pathOf(skill: StoredSkill, path: string): string {
    checkPath(skill, path, this.#limits)
    return join(this.folderOf(skill), path)
  }
}
