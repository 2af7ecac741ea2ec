import { hash, randomBytes } from 'node:crypto'
import { lstat, readdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../../daemon/config/config.ts'
import { FolderFaultError, filesAsUsed, isLeaving } from '../../daemon/runtime/folder-files.ts'
import type { FolderFile } from '../../daemon/runtime/folder-files.ts'
import { digestOf } from '../../sync/model/digest.ts'
import type { DigestedFile } from '../../sync/model/digest.ts'
import type { SkillLimits } from '../../sync/model/skill.ts'
import { isSkillName } from '../../sync/skill/skill-name.ts'
import { removeAll } from '../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { StateFolder } from '../../sync/store/files/state-folder.ts'
import { SkillLinks } from '../../sync/store/skills/skill-links.ts'
import type { LinkEntry } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'

/** The content at a skill's path in an agent's folder. */
export type AgentFolderEntry =
  | { readonly kind: 'absent' }
  | { readonly kind: 'link'; readonly target: string }
  /**
   * The digests of the whole folder, if it can be read, and of the folder without the files that programs leave behind.
   */
  | { readonly kind: 'copy'; readonly digests: readonly string[] }
  /** Not ours, or changed since we put it there. We never touch it. */
  | { readonly kind: 'foreign'; readonly what: string }

/** Examines one path. Content is ours only if it matches the entry exactly. */
export async function foundAt(
  path: string,
  entry: LinkEntry | undefined,
  limits: SkillLimits,
): Promise<AgentFolderEntry> {
  const there = await unlessAbsent(lstat(path))
  if (there === undefined) return { kind: 'absent' }
  if (there.isSymbolicLink()) {
    const target = await unlessAbsent(readlink(path))
    if (target === undefined) return { kind: 'absent' }
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

/** Empty if the folder cannot be a copy of ours. */
async function digestsAt(path: string, limits: SkillLimits): Promise<readonly string[]> {
  try {
    const { files, leavings } = await filesAsUsed(path, limits)
    const all = leavings === undefined ? [] : [digestOf([...files, ...leavings].map(digestedOf))]
    return [...new Set([...all, digestOf(files.map(digestedOf))])]
  } catch (error) {
    if (error instanceof FolderFaultError) return []
    throw error
  }
}

function digestedOf({ path, executable, bytes }: FolderFile): DigestedFile {
  return { path, executable, size: bytes.length, sha256: hash('sha256', bytes) }
}

/**
 * The digests that identify a copy of a skill. Python rewrites the files of `__pycache__`, including files that the
 * skill contains. A used copy is therefore identified by all other files.
 */
export function digestsOf({ digest, skill }: Linkable): { readonly whole: string; readonly used: string } {
  return { whole: digest, used: digestOf(skill.files.filter(({ path }) => !isLeaving(path))) }
}

/** The folders that must be created before this one can exist, outermost first. */
export async function missingAbove(path: string): Promise<string[]> {
  if ((await unlessAbsent(lstat(path))) !== undefined) return []
  return path === dirname(path) ? [] : [...(await missingAbove(dirname(path))), path]
}

/**
 * Removes the folders that were created, innermost first. Stops at the first folder that is not empty or cannot be
 * removed.
 */
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

/**
 * Puts a link at a path that is empty or holds content of ours. False if it holds anything else, which stays as it is,
 * or if another process put an earlier version there first.
 */
export async function createLink(path: string, target: string, ours: Ours): Promise<boolean> {
  const isWanted = (found: AgentFolderEntry): boolean => found.kind === 'link' && found.target === target
  return replaceOurs(path, ours, { place: () => symlink(target, path), isWanted })
}

/**
 * Moves a folder to a path, under the conditions of `createLink`. The given folder is complete, and is inside a
 * `scratchIn` folder next to the path, and has this digest.
 */
export async function placeFolder(
  path: string,
  { folder, digest }: { readonly folder: string; readonly digest: string },
  ours: Ours,
): Promise<boolean> {
  const isWanted = (found: AgentFolderEntry): boolean => found.kind === 'copy' && found.digests.includes(digest)
  return replaceOurs(path, ours, { place: () => rename(folder, path), isWanted })
}

/** Removes content of ours. False if the path holds anything else. */
export async function removeOurs(path: string, ours: Ours): Promise<boolean> {
  return replaceOurs(path, ours, { place: async () => {}, isWanted: () => true })
}

/** The data that identifies content at a path as ours. */
export interface Ours {
  readonly entry: LinkEntry | undefined
  readonly limits: SkillLimits
  /** Ends the work before the next change, because an examination can last long. */
  readonly signal: AbortSignal
}

interface Replacement {
  readonly place: () => Promise<void>
  /** True for content that another process put there first, if it is the same. */
  readonly isWanted: (found: AgentFolderEntry) => boolean
}

/**
 * Moves our content aside and examines it again. Another process may have replaced it, or written to it, since the
 * first examination.
 */
async function replaceOurs(
  path: string,
  { entry, limits, signal }: Ours,
  { place, isWanted }: Replacement,
): Promise<boolean> {
  const before = await foundAt(path, entry, limits)
  if (before.kind === 'foreign') return false
  signal.throwIfAborted()
  // Another process that applies the same plan may be first.
  const isThereNow = async (): Promise<boolean> =>
    (await isPlaced(place)) || isWanted(await foundAt(path, entry, limits))
  if (before.kind === 'absent') return isThereNow()
  const aside = `${join(dirname(path), ASIDE)}${randomHex()}`
  await unlessAbsent(rename(path, aside))
  try {
    const found = await foundAt(aside, entry, limits)
    signal.throwIfAborted()
    if (found.kind !== 'foreign') {
      const isThere = await isThereNow()
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

function isOurs({ kind }: AgentFolderEntry): boolean {
  return kind === 'link' || kind === 'copy'
}

/** False if another process created the path first. */
async function isPlaced(place: () => Promise<void>): Promise<boolean> {
  try {
    await place()
    return true
  } catch (error) {
    if (isDiskError(error, 'EEXIST', 'ENOTEMPTY', 'ENOTDIR')) return false
    throw error
  }
}

/** Leaves anything that another process has put there in the meantime. */
async function putBack(aside: string, path: string): Promise<void> {
  if ((await unlessAbsent(lstat(path))) === undefined) await rename(aside, path)
}

/**
 * Removes content of ours. A folder is renamed first: if a kill leaves it half removed, only its name shows that it is
 * ours.
 */
async function discard(path: string): Promise<void> {
  const there = await unlessAbsent(lstat(path))
  if (there === undefined) return
  if (!there.isDirectory()) return unlink(path)
  const gone = `${join(dirname(path), GONE)}${randomHex()}`
  await rename(path, gone)
  await removeAll(gone)
}

/**
 * A temporary folder next to the skills that agents do not read: its name begins with a dot, and no SKILL.md is
 * directly in it.
 */
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

/** Removes what killed runs left before this time. Of the content that was moved aside, removes only ours. */
export async function sweep(
  folder: string,
  entries: Iterable<LinkEntry>,
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

async function isOneOf(path: string, entries: readonly LinkEntry[], limits: SkillLimits): Promise<boolean> {
  for (const entry of entries) {
    if (isOurs(await foundAt(path, entry, limits))) return true
  }
  return false
}

/** The links in a folder that lead to our `links/`. They are ours even if their record was lost. */
export async function orphanLinks(folder: string, { state, limits }: Config): Promise<ReadonlyMap<string, LinkEntry>> {
  // The state folder itself may be lost.
  const links = new SkillLinks(new StateFolder(resolve(state)))
  const strays = new Map<string, LinkEntry>()
  for (const name of (await unlessAbsent(readdir(folder))) ?? []) {
    if (!isSkillName(name)) continue
    const entry = strayEntry(name, links)
    const { kind } = await foundAt(join(folder, name), entry, limits.skill)
    if (kind === 'link') strays.set(name, entry)
  }
  return strays
}

/** The known data of a link whose record was lost. */
export function strayEntry(name: string, links: SkillLinks): LinkEntry {
  return { targets: [links.pathOf(name)], digests: [] }
}
