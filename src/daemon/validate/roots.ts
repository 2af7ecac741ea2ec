import { stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { UsageError } from '../commands/command.ts'

/** A folder that is looked at. */
export interface Root {
  /** Absolute. */
  readonly folder: string
  /** The folder as the user would write it: from where they are, or absolute as they wrote it. Empty where they are. */
  readonly shown: string
  /** What a skill at its top has to be called; undefined where that is the folder of a checkout. */
  readonly name: string | undefined
}

/** The folders that paths of the command line mean. A path below another one adds nothing. */
export async function rootsOf(paths: readonly string[], workingFolder: string): Promise<Root[]> {
  const roots: Root[] = []
  for (const path of paths) {
    const folder = await folderOf(path, workingFolder)
    const shown = isAbsolute(path) ? folder : relative(workingFolder, folder)
    const isCheckout = await isThere(join(folder, '.git'))
    roots.push({ folder, shown, name: isCheckout ? undefined : basename(folder) })
  }
  return roots.filter(
    (root, index) => !roots.some((other, at) => covers(other, root) && (other.folder !== root.folder || at < index)),
  )
}

function covers(outer: Root, inner: Root): boolean {
  return (
    inner.folder === outer.folder ||
    inner.folder.startsWith(outer.folder.endsWith(sep) ? outer.folder : outer.folder + sep)
  )
}

async function folderOf(path: string, workingFolder: string): Promise<string> {
  const at = resolve(workingFolder, path)
  const found = await stat(at).catch(orMissing)
  if (found === undefined) throw new UsageError(`There is no "${path}"`)
  if (found.isDirectory()) return at
  return skillAround(at, path)
}

/** The innermost skill that a file lies in: programs that run before a commit name the files that changed. */
async function skillAround(file: string, path: string): Promise<string> {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (await isThere(join(folder, 'SKILL.md'))) return folder
    if (/^skill\.md$/i.test(basename(file))) return dirname(file)
    if (folder === dirname(folder))
      throw new UsageError(`"${path}" lies in no skill: no folder above it has a SKILL.md`)
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(orMissing)) !== undefined
}

/** What may not be looked at is not there for us; the walk says so of what matters. */
function orMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return undefined
  throw error
}
