import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { isLeftByPrograms } from '../../sync/upstream/folder/left-by-programs.ts'

/** A folder to validate. */
export interface Root {
  /** Absolute. */
  readonly folder: string
  /** The folder with links resolved, because several paths can lead to it. */
  readonly real: string
  /**
   * The folder relative to the working folder, or absolute as the user wrote it. Empty for the working folder itself.
   */
  readonly shown: string
  /**
   * The required name of a skill at the top of the folder, whatever links lead there; `undefined` if the folder is a
   * checkout.
   */
  readonly name: string | undefined
}

/** The folders that the paths of a command line mean. */
export interface Roots {
  readonly roots: readonly Root[]
  /** Files that belong to no skill, as they were named. A list of all changed files contains some of these. */
  readonly outside: readonly string[]
}

/** Resolves the paths. A folder that is covered by another one is dropped. */
export async function rootsOf(paths: readonly string[], workingFolder: string): Promise<Roots> {
  const roots: Root[] = []
  const outside: string[] = []
  for (const path of paths) {
    const folder = await readable(path, folderOf(path, resolve(workingFolder, path)))
    if (folder === undefined) outside.push(path)
    else roots.push(await readable(path, rootAt(folder, isAbsolute(path) ? folder : relative(workingFolder, folder))))
  }
  const isLookedAt = (root: Root, index: number): boolean =>
    roots.some((other, at) => covers(other, root) && (other.real !== root.real || at < index))
  return { roots: roots.filter((root, index) => !isLookedAt(root, index)), outside }
}

async function rootAt(folder: string, shown: string): Promise<Root> {
  const isCheckout = await isThere(join(folder, '.git'))
  const real = await realpath(folder)
  return { folder, real, shown, name: isCheckout ? undefined : basename(real) }
}

/** True if validating one folder covers the other. */
function covers(outer: Root, inner: Root): boolean {
  const way = relative(outer.real, inner.real)
  if (isAbsolute(way)) return false
  return !way.split(sep).some((segment) => segment === '..' || isLeftByPrograms(segment, true))
}

/** The folder at the path, or the folder of the skill that contains the file; `undefined` if no skill contains it. */
async function folderOf(path: string, at: string): Promise<string | undefined> {
  const found = await unlessAbsent(stat(at))
  if (found === undefined) throw new UsageError(`There is no "${path}"`)
  if (found.isDirectory()) return at
  if (!found.isFile())
    throw new UsageError(`"${path}" is neither a folder nor a plain file; name a folder, or a file of a skill`)
  return skillAround(at)
}

/** The innermost skill that contains a file, within its own repository. */
async function skillAround(file: string): Promise<string | undefined> {
  if (/^skill\.md$/i.test(basename(file))) return dirname(file)
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (await isThere(join(folder, 'SKILL.md'))) return folder
    if (folder === dirname(folder) || (await isThere(join(folder, '.git')))) return undefined
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await unlessAbsent(stat(path))) !== undefined
}

async function readable<Value>(path: string, promise: Promise<Value>): Promise<Value> {
  try {
    return await promise
  } catch (cause) {
    if (!isDiskError(cause)) throw cause
    throw new UsageError(`Cannot read "${path}": ${whyNotUsed(cause)}; name a skill, or a folder of skills`, { cause })
  }
}
