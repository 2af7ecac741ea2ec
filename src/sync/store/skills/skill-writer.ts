import { lstat, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { inSlices } from '../../../base/cooperative.ts'
import { WIDTH, inParallel } from '../../../base/parallel.ts'
import { foldersAbove } from '../../../base/paths.ts'
import { comparePaths } from '../../model/digest.ts'
import type { SkillFile } from '../../model/skill.ts'
import { Damaged, SyncError } from '../../model/sync-error.ts'
import { removeAll, syncFolder, temporaryIn } from '../files/atomic.ts'
import { runOnDisk, cannot, isDiskError, unlessAbsent } from '../files/disk-error.ts'
import { makeDurable } from '../files/fsync.ts'
import type { GcLeases } from '../files/gc-leases.ts'
import { SpoolReader } from '../files/spool.ts'
import { makeFolder, fileNamesIn, type StateFolder } from '../files/state-folder.ts'
import { copyStored, writeSpooled } from './skill-file.ts'
import { calledOf, checkDigest, checkStorable, isDigest } from './stored-path.ts'
import type { PathLimits, ContentFolder, StoredSkill } from './stored-path.ts'

/** The origin of a file's bytes: a range in a file of a scratch folder, or a stored file. */
export type BytesOrigin =
  | { readonly kind: 'scratch'; readonly file: string; readonly at: number }
  | { readonly kind: 'stored'; readonly skill: StoredSkill; readonly path: string }

/** The dependencies of `SkillWriter`. */
export interface KeepingParts {
  /** The maximum of all bytes written. */
  readonly mostBytes: number
  readonly state: StateFolder
  readonly claims: GcLeases
  readonly limits: PathLimits
  /** True if a skill is in its place, undamaged. */
  isWhole(skill: StoredSkill): Promise<boolean>
  /** Returns the path of a skill's file, which need not exist. */
  pathOf(skill: StoredSkill, path: string): string
}

/** A skill version that is being written, under a temporary name that no reader opens. */
interface Draft {
  readonly skill: StoredSkill
  readonly folder: string
  /** The paths of all files and folders written for it. */
  readonly paths: readonly string[]
}

/** One file that is being written. */
interface Writing {
  readonly skill: StoredSkill
  readonly file: SkillFile
  readonly path: string
  readonly from: BytesOrigin
}

/**
 * Writes skill versions into the store. Each is written as it arrives, under a temporary name that no reader opens;
 * `finish` renames them into place together. Disposal removes the versions that were written but not wanted in the end.
 */
export class SkillWriter implements AsyncDisposable {
  readonly #parts: KeepingParts
  /** The versions that are completely written, by place and digest; `undefined` for one that existed already. */
  readonly #seen = new Map<string, Draft | undefined>()
  readonly #drafts = new Set<Draft>()
  #bytes = 0

  constructor(parts: KeepingParts) {
    this.#parts = parts
  }

  /** Writes the skills that are missing or damaged; calls `bytesOf` only for these. */
  async add(
    skills: readonly StoredSkill[],
    bytesOf: (skill: StoredSkill, file: SkillFile) => BytesOrigin,
    signal: AbortSignal,
  ): Promise<void> {
    const drafts = (await this.#missing(skills, signal)).map((skill) => this.#begin(skill))
    if (drafts.length === 0) return
    await this.#fill(drafts, bytesOf, signal)
    for (const draft of drafts) this.#seen.set(keyOf(draft.skill), draft)
  }

  /** Moves these skills into their places; all were added before. They are on the disk when this returns. */
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
    // Also for skills that existed already: the process that renamed them was perhaps killed before this sync, or is
    // still before it.
    const places = new Set<ContentFolder>(['skills', ...wanted.map(({ place }) => place)])
    for (const place of places) await syncFolder(this.#parts.state.at(place))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Frees the space at once if the disk is full. The next sweep removes what cannot be removed now.
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

  /**
   * Returns the skills that have a folder, intact or not. One listing is faster than many checks, and slower than a
   * few.
   */
  async #thereOf(skills: ReadonlyMap<string, StoredSkill>): Promise<ReadonlySet<StoredSkill>> {
    if (skills.size < WORTH_A_LISTING) return new Set(skills.values())
    const keys = async (place: ContentFolder): Promise<string[]> =>
      (await fileNamesIn(this.#parts.state.at(place))).filter(isDigest).map((digest) => keyOf({ place, digest }))
    const there = new Set([...(await keys('skills')), ...(await keys('docs'))])
    return new Set([...skills].flatMap(([key, skill]) => (there.has(key) ? [skill] : [])))
  }

  /** A skill that existed an hour ago may have been collected since, because its claim has expired. */
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
    bytesOf: (skill: StoredSkill, file: SkillFile) => BytesOrigin,
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
        : runOnDisk(attempt, () => copyStored(this.#parts.pathOf(from.skill, from.path), path, file))
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
      // Another source published the same skill first, or the existing copy is damaged and must be replaced.
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

/** Returns every folder of a draft, parents before children. */
function foldersIn({ folderName, files }: StoredSkill, folder: string): string[] {
  const inside = new Set(files.flatMap((file) => [...foldersAbove(file.path)]))
  const root = join(folder, folderName)
  return [...new Set([folder, ...[...inside].sort(comparePaths).map((below) => join(root, below))])]
}

/** Returns false if something occupies the target. */
async function hasMoved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false
    throw error
  }
}
