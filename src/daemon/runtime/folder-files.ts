import { constants } from 'node:fs'
import type { Dirent } from 'node:fs'
import { lstat, open, readdir, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'
import { SKILL_LIMITS } from '../../sync/model/skill.ts'
import type { SkillLimits } from '../../sync/model/skill.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { firstBytes } from './plain-file.ts'

/** One file of a skill's folder, as it is copied. */
export interface FolderFile {
  /** Relative to the folder. */
  readonly path: string
  readonly executable: boolean
  readonly bytes: Uint8Array
}

/** An entry in a folder that prevents the folder from being taken as a skill. */
export class FolderFaultError extends Error {
  override readonly name = 'FolderFault'
  /** Relative to the folder. */
  readonly path: string

  constructor(path: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.path = path
  }
}

/**
 * Reads every file of a skill's folder except those in `.git`. A link to a file inside the folder counts as that file.
 * Any other link, and anything that is neither a file nor a folder, is a `FolderFaultError` and is never opened.
 */
export async function folderFilesOf(folder: string): Promise<FolderFile[]> {
  const walk = new Walk(await realpath(folder), AUTHORED)
  await walk.into('', 0)
  return walk.files
}

/** Reads every file of a folder that contains only files and non-empty folders; anything else is a `FolderFaultError`. */
export async function filesAsWritten(folder: string): Promise<FolderFile[]> {
  const walk = new Walk(await realpath(folder), WRITTEN)
  await walk.into('', 0)
  return walk.files
}

/** The files of a copy that an agent worked with. */
export interface UsedFiles {
  readonly files: readonly FolderFile[]
  /**
   * Files that programs generate by themselves; a skill can contain such files too. `undefined` if there are too many.
   */
  readonly leavings: readonly FolderFile[] | undefined
}

/** Reads like `filesAsWritten`, but keeps apart the files that programs generate by themselves. */
export async function filesAsUsed(folder: string, limits: SkillLimits): Promise<UsedFiles> {
  const walk = new Walk(await realpath(folder), USED, limits)
  await walk.into('', 0)
  return { files: [...walk.files], leavings: await walk.leavings() }
}

/** Reads one file of a skill's folder, by the rules of `folderFilesOf`. */
export async function fileOf(folder: string, path: string): Promise<FolderFile> {
  const walk = new Walk(await realpath(folder), AUTHORED)
  await walk.take(path, await lstat(join(folder, path)))
  const [file] = walk.files
  if (file === undefined) throw new FolderFaultError(path, 'is a folder')
  return file
}

/**
 * The rules depend on the author of the folder: people, or this program, which writes neither links nor empty folders.
 */
interface Rules {
  readonly passedOver: readonly string[]
  readonly isPlain: boolean
  readonly isUsed: boolean
}

const AUTHORED: Rules = { passedOver: ['.git'], isPlain: false, isUsed: false }

/** A file that the digest does not cover would be lost silently, so nothing is skipped. */
const WRITTEN: Rules = { passedOver: [], isPlain: true, isUsed: false }

const USED: Rules = { passedOver: [], isPlain: true, isUsed: true }

const MOST_LEVELS = 64

/** True for files like those that Python writes beside the modules it loads, or the Finder in a folder. */
export function isLeaving(path: string): boolean {
  const name = basename(path)
  return name === '.DS_Store' || (name.endsWith('.pyc') && basename(dirname(path)) === CACHE)
}

const CACHE = '__pycache__'

class Walk {
  readonly files: FolderFile[] = []
  readonly #folder: string
  readonly #rules: Rules
  readonly #limits: SkillLimits
  readonly #left: string[] = []
  #entries = 0
  #bytes = 0

  constructor(folder: string, rules: Rules, limits = SKILL_LIMITS) {
    this.#folder = folder
    this.#rules = rules
    this.#limits = limits
  }

  async into(path: string, level: number): Promise<void> {
    if (level > MOST_LEVELS) throw new FolderFaultError(path, `is more than ${MOST_LEVELS} folders deep`)
    const entries = await readdir(join(this.#folder, path), { withFileTypes: true })
    if (this.#rules.isPlain && entries.length === 0 && !this.#mayBeEmpty(path))
      throw new FolderFaultError(path, 'is empty')
    for (const entry of entries) {
      if (this.#rules.passedOver.includes(entry.name)) continue
      this.#entries += 1
      // Folders count like files: a tree of nothing but folders ends too.
      const most = 16 * this.#limits.files
      if (this.#entries > most) throw new FolderFaultError('', `holds over ${most} files and folders`)
      const below = join(path, entry.name)
      if (entry.isDirectory()) await this.into(below, level + 1)
      else if (this.#rules.isUsed && entry.isFile() && isLeaving(below)) this.#left.push(below)
      else await this.take(below, entry)
    }
  }

  /** Their number or size may exceed the limits of a skill. */
  async leavings(): Promise<readonly FolderFile[] | undefined> {
    const before = this.files.length
    try {
      for (const path of this.#left) await this.take(path, await lstat(join(this.#folder, path)))
      return this.files.slice(before)
    } catch (error) {
      if (error instanceof FolderFaultError) return undefined
      throw error
    }
  }

  /** A user that deletes the cached files leaves the empty folder. */
  #mayBeEmpty(path: string): boolean {
    return this.#rules.isUsed && basename(path) === CACHE
  }

  async take(path: string, entry: Kind): Promise<void> {
    if (this.files.length >= this.#limits.files)
      throw new FolderFaultError('', `holds over ${this.#limits.files} files, the most that a skill may have`)
    if (this.#rules.isPlain && entry.isSymbolicLink()) throw new FolderFaultError(path, 'is a link')
    const left = this.#limits.bytes - this.#bytes
    const file = await readPlain(entry.isSymbolicLink() ? await this.#targetOf(path) : join(this.#folder, path), left)
    if (file === undefined) throw new FolderFaultError(path, 'is neither a file, nor a folder, nor a link to a file')
    if (file === 'changing') throw new FolderFaultError(path, 'changed while it was read; try again')
    if (file === 'too-large')
      throw new FolderFaultError(path, `makes the skill larger than ${this.#limits.bytes} bytes`)
    this.#bytes += file.bytes.length
    this.files.push({ path, ...file })
  }

  async #targetOf(path: string): Promise<string> {
    const target = await realpath(join(this.#folder, path)).catch((cause: unknown) => {
      if (isDiskError(cause))
        throw new FolderFaultError(path, `is a link that leads nowhere (${cause.code})`, { cause })
      throw cause
    })
    const inside = relative(this.#folder, target)
    if (isAbsolute(inside) || inside.split(sep).some((segment) => segment === '..' || segment === '.git'))
      throw new FolderFaultError(path, 'is a link that leads out of the skill')
    return target
  }
}

type Kind = Pick<Dirent, 'isSymbolicLink'>

/** Returns `undefined` if the path is not a file. Opens without blocking, since the file may have become a pipe. */
async function readPlain(
  path: string,
  mostBytes: number,
): Promise<Omit<FolderFile, 'path'> | 'too-large' | 'changing' | undefined> {
  const kind = await lstat(path)
  if (!kind.isFile()) return undefined
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const before = await handle.stat({ bigint: true })
  if (!before.isFile()) return undefined
  if (before.size > mostBytes) return 'too-large'
  const bytes = await firstBytes(handle, Number(before.size))
  const after = await handle.stat({ bigint: true })
  if (BigInt(bytes.length) !== after.size || after.mtimeNs !== before.mtimeNs) return 'changing'
  return { executable: (before.mode & BigInt(constants.S_IXUSR)) !== 0n, bytes }
}
