import { lstat, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { comparePaths } from '../model/digest.ts'
import { foldersAbove } from '../model/paths.ts'
import type { SkillFile } from '../model/skill.ts'
import { inSlices } from '../model/slices.ts'
import { Damaged, SyncError } from '../model/sync-error.ts'
import { removeAll, syncFolder, temporaryIn } from './atomic.ts'
import type { Claims } from './claims.ts'
import { attempted, cannot, isDiskError, unlessAbsent } from './disk-error.ts'
import { makeDurable } from './durable.ts'
import { inspect, type Inspection } from './inspect.ts'
import { WIDTH, inParallel } from './parallel.ts'
import { place, problemOf, readVerified, type Bytes } from './skill-file.ts'
import { makeFolder, namesIn, type StateFolder } from './state-folder.ts'
import { calledOf, checkDigest, checkPath, checkStorable, isDigest } from './stored-path.ts'
import type { PathLimits, Place, StoredSkill } from './stored-path.ts'

/** Where the bytes of a file come from. `move`: nobody else wants this scratch file, so it need not be copied. */
export type Origin =
  | { readonly kind: 'scratch'; readonly file: string; readonly move: boolean }
  | { readonly kind: 'stored'; readonly skill: StoredSkill; readonly path: string }

/** What a folder was like: another when something came or went since, if the disk's clock went on before that. */
export interface FolderMark {
  readonly text: string
  /** By the wall clock. */
  readonly changedMs: number
}

/** A skill version while it is written: nobody looks below a temporary name. */
interface Draft {
  readonly skill: StoredSkill
  readonly folder: string
}

/** One file on its way to its place. */
interface Writing {
  readonly skill: StoredSkill
  readonly file: SkillFile
  readonly path: string
  readonly from: Origin
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

  /** `keepAll` for one. */
  async keep(skill: StoredSkill, bytesOf: (file: SkillFile) => Origin, signal: AbortSignal): Promise<void> {
    await this.keepAll([skill], (_, file) => bytesOf(file), signal)
  }

  /**
   * Writes those that are not here, or damaged, and asks `bytesOf` for no others. All are on the disk when this returns,
   * and if it throws, none is half there. A scratch file that was to be moved is gone either way.
   */
  async keepAll(
    skills: readonly StoredSkill[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => Origin,
    signal: AbortSignal,
  ): Promise<void> {
    const missing = await this.#missing(skills, signal)
    if (missing.length > 0) await this.#write(missing, bytesOf, signal)
    // Also for those that were here: whoever renamed them may not have come to this yet, or was killed before.
    const places = new Set<Place>(['skills', ...skills.map(({ place }) => place)])
    for (const place of places) await syncFolder(this.#state.at(place))
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

  async #missing(skills: readonly StoredSkill[], signal: AbortSignal): Promise<StoredSkill[]> {
    const distinct = new Map(skills.map((skill) => [`${skill.place}/${skill.digest}`, skill]))
    for (const skill of distinct.values()) checkStorable(skill, this.#limits)
    for (const { digest } of distinct.values()) await this.#claims.claim(digest)
    const there = await this.#thereOf(distinct)
    const missing = [...distinct.values()].filter((skill) => !there.has(skill))
    const lookAt = async (skill: StoredSkill): Promise<void> => {
      if (!(await this.#isWhole(skill))) missing.push(skill)
    }
    await inParallel(there, WIDTH, lookAt, signal)
    missing.forEach(checkDigest)
    return missing
  }

  /** Those that have a folder, whole or not. To list all at once is quicker than to look for many, and slower than for few. */
  async #thereOf(skills: ReadonlyMap<string, StoredSkill>): Promise<ReadonlySet<StoredSkill>> {
    if (skills.size < WORTH_A_LISTING) return new Set(skills.values())
    const names = async (place: Place) => (await this.digests(place)).map((digest) => `${place}/${digest}`)
    const there = new Set([...(await names('skills')), ...(await names('docs'))])
    return new Set([...skills].flatMap(([name, skill]) => (there.has(name) ? [skill] : [])))
  }

  async #write(
    missing: readonly StoredSkill[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => Origin,
    signal: AbortSignal,
  ): Promise<void> {
    const drafts = missing.map((skill) => ({ skill, folder: temporaryIn(this.#state.at(skill.place)) }))
    try {
      const paths = await this.#fill(drafts, bytesOf, signal)
      await makeDurable({ folder: this.#state.at('skills'), paths }, signal)
      await inParallel(drafts, WIDTH, (draft) => this.#publish(draft), signal)
    } catch (error) {
      // A full disk gets its litter back at once. What cannot be removed now goes with the next sweep.
      for (const { folder } of drafts) await removeAll(folder).catch(() => {})
      throw error
    }
  }

  /** The paths of all that was written, files and folders. */
  async #fill(
    drafts: readonly Draft[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => Origin,
    signal: AbortSignal,
  ): Promise<string[]> {
    const folders = drafts.flatMap(foldersIn)
    const files = drafts.flatMap(({ skill, folder }) =>
      skill.files.map((file) => ({
        skill,
        file,
        path: join(folder, skill.folderName, file.path),
        from: bytesOf(skill, file),
      })),
    )
    const stored = files.flatMap(({ from }) => (from.kind === 'stored' ? [from.skill.digest] : []))
    for (const digest of new Set(stored)) await this.#claims.claim(digest)
    await inSlices(folders, (folder) => makeFolder(folder, 0o755), signal)
    await inSlices(files, (writing) => this.#place(writing), signal)
    return [...files.map(({ path }) => path), ...folders]
  }

  #place({ skill, file, path, from }: Writing): void {
    const attempt = `keep "${file.path}" of the ${calledOf(skill)}`
    const problem = attempted(attempt, () => place(this.#bytesAt(from), path, file))
    if (problem === undefined) return
    const message = `Cannot ${attempt}: ${problem}`
    throw from.kind === 'stored' ? new Damaged(message) : new SyncError('store-failed', message)
  }

  #bytesAt(origin: Origin): Bytes {
    return origin.kind === 'scratch' ? origin : { file: this.#pathOf(origin.skill, origin.path), move: false }
  }

  async #publish(draft: Draft): Promise<void> {
    const target = this.#state.at(draft.skill.place, draft.skill.digest)
    const attempt = `publish the ${calledOf(draft.skill)}`
    while (!(await hasMoved(draft.folder, target).catch(cannot(attempt)))) {
      // Another source was quicker with the same skill; or what is there is damaged, and its place is needed.
      if (await this.#isWhole(draft.skill)) return removeAll(draft.folder)
      const aside = await this.#state.setAside(target)
      if (aside !== undefined) await removeAll(aside)
    }
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

const WORTH_A_LISTING = 16

/** Every folder of a draft, parents before children. */
function foldersIn(draft: Draft): string[] {
  const inside = new Set(draft.skill.files.flatMap((file) => [...foldersAbove(file.path)]))
  const root = join(draft.folder, draft.skill.folderName)
  return [...new Set([draft.folder, ...[...inside].sort(comparePaths).map((folder) => join(root, folder))])]
}

/** False where something is in the way. */
async function hasMoved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false
    throw error
  }
}
