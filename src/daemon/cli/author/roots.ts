import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { isPassedOver } from '../../../sync/upstream/folder/folder-walk.ts'
import { whyNotUsed } from '../../base/disk-error-text.ts'
import { UsageError } from '../../base/usage-error.ts'

/** A folder that is looked at. */
export interface Root {
  /** Absolute. */
  readonly folder: string
  /** The same without links: one folder may be named in many ways. */
  readonly real: string
  /** The folder as the user would write it: from where they are, or absolute as they wrote it. Empty where they are. */
  readonly shown: string
  /** What a skill at its top has to be called, whatever links lead there; undefined where that is the folder of a checkout. */
  readonly name: string | undefined
}

/** What paths of the command line mean. */
export interface Roots {
  readonly roots: readonly Root[]
  /** Files that lie in no skill, as they were named. Whoever names all files that changed names some of these. */
  readonly outside: readonly string[]
}

/** Looks where the paths lead. One that is looked at with another adds nothing. */
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

/** Whether who looks at the one looks at the other. */
function covers(outer: Root, inner: Root): boolean {
  const way = relative(outer.real, inner.real)
  if (isAbsolute(way)) return false
  return !way.split(sep).some((segment) => segment === '..' || isPassedOver(segment))
}

/** The folder at the path, or that of the skill which the file there lies in; undefined where it lies in none. */
async function folderOf(path: string, at: string): Promise<string | undefined> {
  const found = await unlessAbsent(stat(at))
  if (found === undefined) throw new UsageError(`There is no "${path}"`)
  if (found.isDirectory()) return at
  if (!found.isFile()) throw new UsageError(`"${path}" is neither a folder nor a plain file; name what a skill lies in`)
  return skillAround(at)
}

/** The innermost skill that a file lies in, in its own repository. */
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
