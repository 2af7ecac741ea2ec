import type { Dirent } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { comparePaths } from '../../sync/model/digest.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { isLeftByPrograms } from '../../sync/upstream/folder/left-by-programs.ts'
import { whyNotUsed } from './disk-error-text.ts'
import { UsageError } from './usage-error.ts'

/** The skills below a path that was named on the command line. */
export interface SkillFolders {
  /** The named folder, or that of the named SKILL.md; without links in its path. */
  readonly root: string
  /** The same folder as the user wrote it. */
  readonly named: string
  /** Absolute and sorted. Everything below one of them belongs to it. */
  readonly folders: readonly string[]
  /** Folders that could not be read, each with the error. */
  readonly closed: readonly (readonly [string, string])[]
}

/**
 * Finds skills at a path: a SKILL.md, the folder of a skill, a folder of skills, or a link to one of them. A SKILL.md
 * stands for the folder in the given path, even if the file itself is a link. Links below the path are not followed.
 */
export async function skillFoldersAt(path: string, signal: AbortSignal): Promise<SkillFolders> {
  if (basename(path) === DOCUMENT && !(await lstat(path).catch(notThere(path))).isDirectory())
    return oneAt(await realpath(dirname(path)).catch(notThere(path)), dirname(path))
  const real = await realpath(path).catch(notThere(path))
  const kind = await stat(real).catch(notThere(path))
  if (kind.isFile() && basename(real) === DOCUMENT) return oneAt(dirname(real), dirname(real))
  if (!kind.isDirectory())
    throw new UsageError(`"${path}" is neither a folder nor a ${DOCUMENT}; name the folder of the skill`)
  const found = await foldersBelow(real, path, signal)
  if (found.folders.length === 0 && found.closed.length === 0)
    throw new UsageError(`There is no ${DOCUMENT} in "${path}" or below it; name the folder of the skill`)
  return found
}

function oneAt(root: string, named: string): SkillFolders {
  return { root, named, folders: [root], closed: [] }
}

/** The file that makes a folder a skill. */
export const DOCUMENT = 'SKILL.md'

const MOST_FOLDERS = 20_000

async function foldersBelow(root: string, named: string, signal: AbortSignal): Promise<SkillFolders> {
  const folders: string[] = []
  const closed: [string, string][] = []
  const waiting = [root]
  for (let seen = 1; waiting.length > 0; seen += 1) {
    if (seen > MOST_FOLDERS)
      throw new UsageError(`"${named}" holds over ${MOST_FOLDERS} folders; name the one that the skills lie in`)
    signal.throwIfAborted()
    const folder = waiting.pop() ?? root
    const entries = await entriesOf(folder)
    if (typeof entries === 'string') closed.push([folder, entries])
    else if (entries.some((entry) => entry.name === DOCUMENT && !entry.isDirectory())) folders.push(folder)
    else waiting.push(...entries.filter(isLookedInto).map(({ name }) => join(folder, name)))
  }
  return { root, named, folders: folders.toSorted(comparePaths), closed }
}

function isLookedInto(entry: Dirent): boolean {
  return entry.isDirectory() && !isLeftByPrograms(entry.name, true)
}

async function entriesOf(folder: string): Promise<Dirent[] | string> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (isDiskError(error)) return error.code
    throw error
  }
}

/** True if the path is the folder or is below it. Both are absolute. */
export function isWithin(path: string, folder: string): boolean {
  const inside = relative(folder, path)
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}

function notThere(path: string): (error: unknown) => never {
  return (error) => {
    if (isDiskError(error))
      throw new UsageError(`Cannot read "${path}": ${whyNotUsed(error)}; name a ${DOCUMENT} or a folder`, {
        cause: error,
      })
    throw error
  }
}
