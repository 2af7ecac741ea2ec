import { constants } from 'node:fs'
import type { Dirent } from 'node:fs'
import { lstat, open, readdir, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { SKILL_LIMITS } from '../../sync/model/skill.ts'
import { isDiskError } from '../../sync/store/disk-error.ts'
import { firstBytes } from '../plain-file.ts'

/** One file of a skill's folder, as it is copied. */
export interface FolderFile {
  /** Relative to the folder. */
  readonly path: string
  readonly executable: boolean
  readonly bytes: Uint8Array
}

/** Something in a folder that keeps it from being taken as a skill. */
export class FolderFault extends Error {
  override readonly name = 'FolderFault'
  /** Relative to the folder. */
  readonly path: string

  constructor(path: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.path = path
  }
}

/**
 * Every file of a skill's folder but those in `.git`. A link to a file inside of the folder is that file; any other link, and
 * all that is neither file nor folder, is a `FolderFault` and is never opened.
 */
export async function filesOf(folder: string): Promise<FolderFile[]> {
  const walk = new Walk(await realpath(folder), AUTHORED)
  await walk.into('', 0)
  return walk.files
}

/** Every file of a folder that has nothing but files and folders with files in them; for all else it is a `FolderFault`. */
export async function filesAsWritten(folder: string): Promise<FolderFile[]> {
  const walk = new Walk(await realpath(folder), WRITTEN)
  await walk.into('', 0)
  return walk.files
}

/** One file of a skill's folder alone, by the rules of `filesOf`. */
export async function fileOf(folder: string, path: string): Promise<FolderFile> {
  const walk = new Walk(await realpath(folder), AUTHORED)
  await walk.take(path, await lstat(join(folder, path)))
  const [file] = walk.files
  if (file === undefined) throw new FolderFault(path, 'is a folder')
  return file
}

/** Who made the folder that is walked through: people, or this program, which writes neither links nor empty folders. */
interface Rules {
  readonly passedOver: readonly string[]
  readonly isPlain: boolean
}

const AUTHORED: Rules = { passedOver: ['.git'], isPlain: false }

/** What a digest did not cover would be lost without a word. */
const WRITTEN: Rules = { passedOver: [], isPlain: true }

const MOST_LEVELS = 64

class Walk {
  readonly files: FolderFile[] = []
  readonly #folder: string
  readonly #rules: Rules
  #entries = 0
  #bytes = 0

  constructor(folder: string, rules: Rules) {
    this.#folder = folder
    this.#rules = rules
  }

  async into(path: string, level: number): Promise<void> {
    if (level > MOST_LEVELS) throw new FolderFault(path, `lies more than ${MOST_LEVELS} folders deep`)
    const entries = await readdir(join(this.#folder, path), { withFileTypes: true })
    if (this.#rules.isPlain && entries.length === 0) throw new FolderFault(path, 'is empty')
    for (const entry of entries) {
      if (this.#rules.passedOver.includes(entry.name)) continue
      this.#entries += 1
      if (this.#entries > MOST_ENTRIES) throw new FolderFault('', `holds over ${MOST_ENTRIES} files and folders`)
      const below = join(path, entry.name)
      if (entry.isDirectory()) await this.into(below, level + 1)
      else await this.take(below, entry)
    }
  }

  async take(path: string, entry: Kind): Promise<void> {
    if (this.files.length >= SKILL_LIMITS.files)
      throw new FolderFault('', `holds over ${SKILL_LIMITS.files} files, the most that a skill may have`)
    if (this.#rules.isPlain && entry.isSymbolicLink()) throw new FolderFault(path, 'is a link')
    const left = SKILL_LIMITS.bytes - this.#bytes
    const file = await readPlain(entry.isSymbolicLink() ? await this.#targetOf(path) : join(this.#folder, path), left)
    if (file === undefined) throw new FolderFault(path, 'is neither a file, nor a folder, nor a link to a file')
    if (file === 'changing') throw new FolderFault(path, 'changed while it was read; try again')
    if (file === 'too-large') throw new FolderFault(path, `makes the skill larger than ${SKILL_LIMITS.bytes} bytes`)
    this.#bytes += file.bytes.length
    this.files.push({ path, ...file })
  }

  async #targetOf(path: string): Promise<string> {
    const target = await realpath(join(this.#folder, path)).catch((cause: unknown) => {
      if (isDiskError(cause)) throw new FolderFault(path, `is a link that leads nowhere (${cause.code})`, { cause })
      throw cause
    })
    const inside = relative(this.#folder, target)
    if (isAbsolute(inside) || inside.split(sep).some((segment) => segment === '..' || segment === '.git'))
      throw new FolderFault(path, 'is a link that leads out of the skill')
    return target
  }
}

type Kind = Pick<Dirent, 'isSymbolicLink'>

/** Folders count as files do: a tree of nothing else ends too. */
const MOST_ENTRIES = 16 * SKILL_LIMITS.files

/** Undefined for what is no file. Opened without waiting, since what is there may be a pipe by now. */
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
