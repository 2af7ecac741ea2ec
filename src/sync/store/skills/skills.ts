import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { SkillFile } from '../../model/skill.ts'
import { Damaged } from '../../model/sync-error.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import type { GcLeases } from '../files/gc-leases.ts'
import { fileNamesIn, type StateFolder } from '../files/state-folder.ts'
import { inspectSkill, type Inspection } from './inspect-skill.ts'
import { problemOf, readVerified } from './skill-file.ts'
import { SkillWriter, type BytesOrigin } from './skill-writer.ts'
import { calledOf, checkPath, checkStorable, isDigest } from './stored-path.ts'
import type { PathLimits, ContentFolder, StoredSkill } from './stored-path.ts'

/** The state of a folder. It changes if an entry comes or goes, provided that the disk's clock has advanced. */
export interface FolderMark {
  readonly text: string
  /** The change time by the wall clock. */
  readonly changedMs: number
}

/**
 * The skill versions, each once, under its content digest: `skills/<digest>/<name>/…`, never modified. Docs folders are
 * stored in the same way: `docs/<digest>/…`. Files are 0444 or 0555 against an agent's accidental write. Folders stay
 * 0755: otherwise only root could move or remove one, and an agent could not leave its caches.
 */
export class SkillStore {
  readonly #state: StateFolder
  readonly #claims: GcLeases
  readonly #limits: PathLimits

  constructor(state: StateFolder, claims: GcLeases, limits: PathLimits) {
    this.#state = state
    this.#claims = claims
    this.#limits = limits
  }

  /** Returns the absolute path that agents get. */
  folderOf(skill: StoredSkill): string {
    return this.#state.at(skill.place, skill.digest, skill.folderName)
  }

  /**
   * True if the skill exists and is undamaged: every file is read. Garbage collection leaves it alone long enough for a
   * publish.
   */
  async has(skill: StoredSkill): Promise<boolean> {
    checkStorable(skill, this.#limits)
    await this.#claims.claim(skill.digest)
    return this.#isWhole(skill)
  }

  /** Creates a writer for skills that arrive one after the other, limited to `mostBytes` in total. */
  keeping(mostBytes = Infinity): SkillWriter {
    return new SkillWriter({
      mostBytes,
      state: this.#state,
      claims: this.#claims,
      limits: this.#limits,
      isWhole: (skill) => this.#isWhole(skill),
      pathOf: (skill, path) => this.#pathOf(skill, path),
    })
  }

  /** Writes one skill, as `keepAll` does. */
  async keep(skill: StoredSkill, bytesOf: (file: SkillFile) => BytesOrigin, signal: AbortSignal): Promise<void> {
    await this.keepAll([skill], (_, file) => bytesOf(file), signal)
  }

  /**
   * Writes the skills that are missing or damaged; calls `bytesOf` only for these. All are on the disk when this
   * returns; if it throws, none is left half written.
   */
  async keepAll(
    skills: readonly StoredSkill[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => BytesOrigin,
    signal: AbortSignal,
  ): Promise<void> {
    await using keeping = this.keeping()
    await keeping.add(skills, bytesOf, signal)
    await keeping.finish(skills, signal)
  }

  /** Returns the verified bytes of a file. Throws `Damaged` if it is damaged or gone. */
  async read(skill: StoredSkill, file: SkillFile): Promise<Buffer> {
    const read = await readVerified(this.#pathOf(skill, file.path), file)
    if (Buffer.isBuffer(read)) return read
    throw new Damaged(`Cannot read "${file.path}" of the ${calledOf(skill)}: ${read.problem}`)
  }

  /** Inspects everything in the skill's folder, expected or not. */
  async inspect(skill: StoredSkill): Promise<Inspection> {
    checkStorable(skill, this.#limits)
    return inspectSkill(this.#state.at(skill.place, skill.digest), skill)
  }

  /** Returns the digests of all stored skills or docs. */
  async digests(place: ContentFolder = 'skills'): Promise<string[]> {
    return (await fileNamesIn(this.#state.at(place))).filter(isDigest)
  }

  /** `undefined` if the folder of the place is gone. */
  async mark(place: ContentFolder): Promise<FolderMark | undefined> {
    const folder = this.#state.at(place)
    const found = await unlessAbsent(lstat(folder, { bigint: true })).catch(cannot(`look at "${folder}"`))
    return found && { text: `${found.ino} ${found.ctimeNs}`, changedMs: Number(found.ctimeMs) }
  }

  /**
   * Sets a skill aside and returns its new path, for the caller to remove. `undefined` if a pull has claimed it or if
   * it does not exist.
   */
  async setAside(digest: string, place: ContentFolder = 'skills'): Promise<string | undefined> {
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
