import { hash, randomBytes } from 'node:crypto'
import { lstat, readdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Linkable } from './linkable-skills.ts'
import { digestOf } from '../../sync/model/digest.ts'
import type { DigestedFile } from '../../sync/model/digest.ts'
import { removeAll } from '../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import type { SkillLimits } from '../../sync/model/skill.ts'
import { FolderFault, filesAsUsed, isLeaving } from '../base/folder-files.ts'
import type { FolderFile } from '../base/folder-files.ts'
import type { Entry } from './link-record.ts'

/** What is at the place of a skill in an agent's folder. */
export type Found =
  | { readonly kind: 'absent' }
  | { readonly kind: 'link'; readonly target: string }
  /** `digests`: of all that is in it, if that can be told, and of what is not left behind by programs. */
  | { readonly kind: 'copy'; readonly digests: readonly string[] }
  /** Not ours, or not as we put it there: never touched. */
  | { readonly kind: 'foreign'; readonly what: string }

/** Looks at one place. Only what the entry knows exactly is ours. */
export async function foundAt(path: string, entry: Entry | undefined, limits: SkillLimits): Promise<Found> {
  const there = await unlessAbsent(lstat(path))
  if (there === undefined) return { kind: 'absent' }
  if (there.isSymbolicLink()) {
    const target = await readlink(path)
    return entry?.targets.includes(target) === true
      ? { kind: 'link', target }
      : { kind: 'foreign', what: `a link to ${target}` }
  }
  if (!there.isDirectory()) return { kind: 'foreign', what: 'a file' }
  if (entry === undefined || entry.digests.length === 0) return { kind: 'foreign', what: 'a folder' }
  const digests = await digestsAt(path, limits)
  if (digests.some((digest) => entry.digests.includes(digest))) return { kind: 'copy', digests }
  return { kind: 'foreign', what: 'a copy that was changed since' }
}

/** None for what no copy of ours is like. */
async function digestsAt(path: string, limits: SkillLimits): Promise<readonly string[]> {
  try {
    const { files, leavings } = await filesAsUsed(path, limits)
    const all = leavings === undefined ? [] : [digestOf([...files, ...leavings].map(digestedOf))]
    return [...new Set([...all, digestOf(files.map(digestedOf))])]
  } catch (error) {
    if (error instanceof FolderFault) return []
    throw error
  }
}

function digestedOf({ path, executable, bytes }: FolderFile): DigestedFile {
  return { path, executable, size: bytes.length, sha256: hash('sha256', bytes) }
}

/**
 * By what a copy of a skill is known. Python writes the files of `__pycache__` anew, whoever made them, so a copy that was used
 * is known by all the others.
 */
export function digestsOf({ digest, skill }: Linkable): { readonly whole: string; readonly used: string } {
  return { whole: digest, used: digestOf(skill.files.filter(({ path }) => !isLeaving(path))) }
}

/** The folders that have to be made for this one to be there, outermost first. */
export async function missingAbove(path: string): Promise<string[]> {
  if ((await unlessAbsent(lstat(path))) !== undefined) return []
  return path === dirname(path) ? [] : [...(await missingAbove(dirname(path))), path]
}

/** Removes the folders that were made, innermost first, as far as nobody uses them. */
export async function removeMade(made: readonly string[]): Promise<void> {
  for (const path of made.toReversed()) {
    const isGone = await rmdir(path).then(
      () => true,
      (error: unknown) => {
        if (isDiskError(error, 'ENOENT')) return true
        if (isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY', 'EACCES', 'EPERM', 'EROFS')) return false
        throw error
      },
    )
    if (!isGone) return
  }
}

/** Puts a link to a place where nothing is, or one of ours. False where something else is: whatever it is, it stays. */
export async function placeLink(path: string, target: string, ours: Ours): Promise<boolean> {
  return replaced(path, ours, () => symlink(target, path))
}

/** Puts a folder there, the same way. It lies in the same folder, as `scratchIn` names it, and is whole. */
export async function placeFolder(path: string, folder: string, ours: Ours): Promise<boolean> {
  return replaced(path, ours, () => rename(folder, path))
}

/** Removes what is ours. False where something else is there. */
export async function removeOurs(path: string, ours: Ours): Promise<boolean> {
  return replaced(path, ours, async () => {})
}

/** By what something at a place is known to be ours. */
export interface Ours {
  readonly entry: Entry | undefined
  readonly limits: SkillLimits
}

/**
 * What is ours is looked at again once it was taken aside: somebody may have put another thing in its place, or have written
 * to it, since it was looked at.
 */
async function replaced(path: string, { entry, limits }: Ours, place: () => Promise<void>): Promise<boolean> {
  const before = await foundAt(path, entry, limits)
  if (before.kind === 'foreign') return false
  if (before.kind === 'absent') return isPlaced(place)
  const aside = `${join(dirname(path), ASIDE)}${randomHex()}`
  await rename(path, aside)
  try {
    if ((await foundAt(aside, entry, limits)).kind !== 'foreign') {
      const isThere = await isPlaced(place)
      await discard(aside)
      return isThere
    }
  } catch (error) {
    await putBack(aside, path)
    throw error
  }
  await putBack(aside, path)
  return false
}

/** False where somebody was quicker. */
async function isPlaced(place: () => Promise<void>): Promise<boolean> {
  try {
    await place()
    return true
  } catch (error) {
    if (isDiskError(error, 'EEXIST', 'ENOTEMPTY', 'ENOTDIR')) return false
    throw error
  }
}

/** Whatever came to be there meanwhile stays too. */
async function putBack(aside: string, path: string): Promise<void> {
  if ((await unlessAbsent(lstat(path))) === undefined) await rename(aside, path)
}

/** For what is ours. Of a folder that a kill left half removed, its name tells that, and nothing else could. */
async function discard(path: string): Promise<void> {
  const there = await unlessAbsent(lstat(path))
  if (there === undefined) return
  if (!there.isDirectory()) return unlink(path)
  const gone = `${join(dirname(path), GONE)}${randomHex()}`
  await rename(path, gone)
  await removeAll(gone)
}

/** A folder beside the skills that nobody reads: its name begins with a dot, and the SKILL.md is not right in it. */
export function scratchIn(folder: string): string {
  return `${join(folder, SCRATCH)}${randomHex()}`
}

function randomHex(): string {
  return randomBytes(16).toString('hex')
}

const SCRATCH = '.skillsyncd-new-'
const ASIDE = '.skillsyncd-old-'
const GONE = '.skillsyncd-gone-'
const TEMPORARY = /^\.skillsyncd-(?:new|old|gone)-[0-9a-f]{32}$/

/** Removes what runs left half done that were killed before this time. Of what was taken aside only what is ours. */
export async function sweep(
  folder: string,
  entries: Iterable<Entry>,
  limits: SkillLimits,
  beforeMs: number,
): Promise<void> {
  const known = [...entries]
  for (const name of (await unlessAbsent(readdir(folder))) ?? []) {
    if (!TEMPORARY.test(name)) continue
    const path = join(folder, name)
    const found = await unlessAbsent(lstat(path))
    if (found === undefined || found.ctimeMs > beforeMs) continue
    if (!name.startsWith(ASIDE) || (await isOneOf(path, known, limits))) await discard(path)
  }
}

async function isOneOf(path: string, entries: readonly Entry[], limits: SkillLimits): Promise<boolean> {
  for (const entry of entries) {
    const { kind } = await foundAt(path, entry, limits)
    if (kind === 'link' || kind === 'copy') return true
  }
  return false
}
