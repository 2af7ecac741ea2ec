import { lstat, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { comparePaths } from '../../model/digest.ts'
import { foldersAbove } from '../../../base/paths.ts'
import type { SkillFile } from '../../model/skill.ts'
import { inSlices } from '../../../base/cooperative.ts'
import { Damaged, SyncError } from '../../model/sync-error.ts'
import { removeAll, syncFolder, temporaryIn } from '../files/atomic.ts'
import type { Claims } from '../files/gc-leases.ts'
import { attempted, cannot, isDiskError, unlessAbsent } from '../files/disk-error.ts'
import { makeDurable } from '../files/fsync.ts'
import { WIDTH, inParallel } from '../../../base/parallel.ts'
import { copyStored, writeSpooled } from './skill-file.ts'
import { SpoolReader } from '../files/spool.ts'
import { makeFolder, namesIn, type StateFolder } from '../files/state-folder.ts'
import { calledOf, checkDigest, checkStorable, isDigest } from './stored-path.ts'
import type { PathLimits, Place, StoredSkill } from './stored-path.ts'

/** Where the bytes of a file come from: a place in a file of a scratch folder, or what is stored already. */
export type Origin =
  | { readonly kind: 'scratch'; readonly file: string; readonly at: number }
  | { readonly kind: 'stored'; readonly skill: StoredSkill; readonly path: string }

/** What skills are kept with. */
export interface KeepingParts {
  /** What all that is written may come to. */
  readonly mostBytes: number
  readonly state: StateFolder
  readonly claims: Claims
  readonly limits: PathLimits
  /** Whether a skill is at its place, undamaged. */
  isWhole(skill: StoredSkill): Promise<boolean>
  /** Where a file of a skill is, or would be. */
  pathOf(skill: StoredSkill, path: string): string
}

/** A skill version while it is written: nobody looks below a temporary name. */
interface Draft {
  readonly skill: StoredSkill
  readonly folder: string
  /** Of all that was written for it, files and folders. */
  readonly paths: readonly string[]
}

/** One file on its way to its place. */
interface Writing {
  readonly skill: StoredSkill
  readonly file: SkillFile
  readonly path: string
  readonly from: Origin
}

/**
 * Skill versions on their way into the store. They are written as they come, under names that nobody looks at, and stand in
 * their places all at once. What was written and is not wanted in the end is gone when this is disposed.
 */
export class Keeping implements AsyncDisposable {
  readonly #parts: KeepingParts
  /** Those that are written, whole, by place and digest; undefined for one that was there already. */
  readonly #seen = new Map<string, Draft | undefined>()
  readonly #drafts = new Set<Draft>()
  #bytes = 0

  constructor(parts: KeepingParts) {
    this.#parts = parts
  }

  /** Writes those that are not here, or damaged, and asks `bytesOf` for no others. */
  async add(
    skills: readonly StoredSkill[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => Origin,
    signal: AbortSignal,
  ): Promise<void> {
    const drafts = (await this.#missing(skills, signal)).map((skill) => this.#begin(skill))
    if (drafts.length === 0) return
    await this.#fill(drafts, bytesOf, signal)
    for (const draft of drafts) this.#seen.set(keyOf(draft.skill), draft)
  }

  /** Puts these in their places, of those that were added. They are on the disk when this returns. */
  async finish(wanted: readonly StoredSkill[], signal: AbortSignal): Promise<void> {
    await this.#expectThere(wanted)
    const drafts = [...new Set(wanted.map((skill) => this.#seen.get(keyOf(skill))))].filter(
      (draft) => draft !== undefined,
    )
    if (drafts.length > 0) {
      const paths = drafts.flatMap((draft) => draft.paths)
      await makeDurable({ folder: this.#parts.state.at('skills'), paths }, signal)
      await inParallel(drafts, WIDTH, (draft) => this.#publish(draft), signal)
    }
    // Also for those that were here: whoever renamed them may not have come to this yet, or was killed before.
    const places = new Set<Place>(['skills', ...wanted.map(({ place }) => place)])
    for (const place of places) await syncFolder(this.#parts.state.at(place))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A full disk gets its litter back at once. What cannot be removed now goes with the next sweep.
    for (const { folder } of this.#drafts) await removeAll(folder).catch(() => {})
  }

  async #missing(skills: readonly StoredSkill[], signal: AbortSignal): Promise<StoredSkill[]> {
    const { claims, limits } = this.#parts
    const unseen = skills.filter((skill) => !this.#seen.has(keyOf(skill)))
    const distinct = new Map(unseen.map((skill) => [keyOf(skill), skill]))
    for (const skill of distinct.values()) checkStorable(skill, limits)
    for (const { digest } of distinct.values()) await claims.claim(digest)
    const there = await this.#thereOf(distinct)
    const missing = [...distinct.values()].filter((skill) => !there.has(skill))
    const lookAt = async (skill: StoredSkill): Promise<void> => {
      if (await this.#parts.isWhole(skill)) this.#seen.set(keyOf(skill), undefined)
      else missing.push(skill)
    }
    await inParallel(there, WIDTH, lookAt, signal)
    missing.forEach(checkDigest)
    return missing
  }

  /** Those that have a folder, whole or not. To list all at once is quicker than to look for many, and slower than for few. */
  async #thereOf(skills: ReadonlyMap<string, StoredSkill>): Promise<ReadonlySet<StoredSkill>> {
    if (skills.size < WORTH_A_LISTING) return new Set(skills.values())
    const keys = async (place: Place): Promise<string[]> =>
      (await namesIn(this.#parts.state.at(place))).filter(isDigest).map((digest) => keyOf({ place, digest }))
    const there = new Set([...(await keys('skills')), ...(await keys('docs'))])
    return new Set([...skills].flatMap(([key, skill]) => (there.has(key) ? [skill] : [])))
  }

  /** What was there an hour ago may have been collected since: nobody could know that it was wanted. */
  async #expectThere(wanted: readonly StoredSkill[]): Promise<void> {
    const relied = wanted.filter((skill) => this.#seen.get(keyOf(skill)) === undefined)
    const distinct = new Map(relied.map((skill) => [keyOf(skill), skill]))
    for (const [key, { digest }] of distinct) {
      if (!this.#seen.has(key)) throw new TypeError(`"${key}" was never added`)
      await this.#parts.claims.claim(digest)
    }
    for (const skill of distinct.values()) {
      const folder = this.#parts.state.at(skill.place, skill.digest)
      if ((await unlessAbsent(lstat(folder)).catch(cannot(`look at "${folder}"`))) === undefined)
        throw new Damaged(`Cannot keep the ${calledOf(skill)}: it is gone`)
    }
  }

  #begin(skill: StoredSkill): Draft {
    this.#bytes += skill.files.reduce((sum, { size }) => sum + size, 0)
    if (this.#bytes > this.#parts.mostBytes) {
      const message = `Cannot keep the skills: they come to over limits.disk.bytes (${this.#parts.mostBytes})`
      throw new SyncError('limit-exceeded', message)
    }
    const folder = temporaryIn(this.#parts.state.at(skill.place))
    const files = skill.files.map((file) => join(folder, skill.folderName, file.path))
    const draft = { skill, folder, paths: [...files, ...foldersIn(skill, folder)] }
    this.#drafts.add(draft)
    return draft
  }

  async #fill(
    drafts: readonly Draft[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => Origin,
    signal: AbortSignal,
  ): Promise<void> {
    const folders = drafts.flatMap(({ skill, paths }) => paths.slice(skill.files.length))
    const files = drafts.flatMap(({ skill, paths }) =>
      skill.files.map((file, at) => ({ skill, file, path: paths[at] ?? '', from: bytesOf(skill, file) })),
    )
    const stored = files.flatMap(({ from }) => (from.kind === 'stored' ? [from.skill.digest] : []))
    for (const digest of new Set(stored)) await this.#parts.claims.claim(digest)
    await inSlices(folders, (folder) => makeFolder(folder, 0o755), signal)
    using reader = new SpoolReader()
    await inSlices(files, (writing) => this.#place(writing, reader), signal)
  }

  async #place({ skill, file, path, from }: Writing, reader: SpoolReader): Promise<void> {
    const attempt = `keep "${file.path}" of the ${calledOf(skill)}`
    const problem =
      from.kind === 'scratch'
        ? await writeSpooled(reader, from, path, file).catch(cannot(attempt))
        : attempted(attempt, () => copyStored(this.#parts.pathOf(from.skill, from.path), path, file))
    if (problem === undefined) return
    const message = `Cannot ${attempt}: ${problem}`
    throw from.kind === 'stored' ? new Damaged(message) : new SyncError('store-failed', message)
  }

  async #publish(draft: Draft): Promise<void> {
    const { skill, folder } = draft
    const { state } = this.#parts
    const target = state.at(skill.place, skill.digest)
    const attempt = `publish the ${calledOf(skill)}`
    while (!(await hasMoved(folder, target).catch(cannot(attempt)))) {
      // Another source was quicker with the same skill; or what is there is damaged, and its place is needed.
      if (await this.#parts.isWhole(skill)) return removeAll(folder)
      const aside = await state.setAside(target)
      if (aside !== undefined) await removeAll(aside)
    }
    this.#drafts.delete(draft)
    this.#seen.set(keyOf(skill), undefined)
  }
}

const WORTH_A_LISTING = 16

function keyOf({ place, digest }: Pick<StoredSkill, 'place' | 'digest'>): string {
  return `${place}/${digest}`
}

/** Every folder of a draft, parents before children. */
function foldersIn({ folderName, files }: StoredSkill, folder: string): string[] {
  const inside = new Set(files.flatMap((file) => [...foldersAbove(file.path)]))
  const root = join(folder, folderName)
  return [...new Set([folder, ...[...inside].sort(comparePaths).map((below) => join(root, below))])]
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
