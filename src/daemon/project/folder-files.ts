import { constants } from 'node:fs'
import type { Dirent } from 'node:fs'
import { lstat, open, readdir, realpath } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { SKILL_LIMITS } from '../../sync/model/skill.ts'
import { isDiskError } from '../../sync/store/disk-error.ts'

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
 * Every file of a skill's folder, but for what is passed over, `.git` if nothing else is said. A link to a file inside of the folder is that file; any other link, and all
 * that is neither file nor folder, is a `FolderFault` and is never opened.
 */
export async function filesOf(folder: string, passedOver: readonly string[] = ['.git']): Promise<FolderFile[]> {
  const walk = new Walk(await realpath(folder), passedOver)
  await walk.into('', 0)
  return walk.files
}

/** One file of it alone, by the same rules. */
export async function fileOf(folder: string, path: string): Promise<FolderFile> {
  const walk = new Walk(await realpath(folder), [])
  await walk.take(path, await lstat(join(folder, path)))
  const [file] = walk.files
  if (file === undefined) throw new FolderFault(path, 'is a folder')
  return file
}

const MOST_LEVELS = 64

class Walk {
  readonly files: FolderFile[] = []
  readonly #folder: string
  readonly #passedOver: readonly string[]
  #entries = 0
  #bytes = 0

  constructor(folder: string, passedOver: readonly string[]) {
    this.#folder = folder
    this.#passedOver = passedOver
  }

  async into(path: string, level: number): Promise<void> {
    if (level > MOST_LEVELS) throw new FolderFault(path, `lies more than ${MOST_LEVELS} folders deep`)
    for (const entry of await readdir(join(this.#folder, path), { withFileTypes: true })) {
      if (this.#passedOver.includes(entry.name)) continue
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
    const left = SKILL_LIMITS.bytes - this.#bytes
    const file = await readPlain(entry.isSymbolicLink() ? await this.#targetOf(path) : join(this.#folder, path), left)
    if (file === undefined) throw new FolderFault(path, 'is neither a file, nor a folder, nor a link to a file')
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
async function readPlain(path: string, mostBytes: number): Promise<Omit<FolderFile, 'path'> | 'too-large' | undefined> {
  const kind = await lstat(path)
  if (!kind.isFile()) return undefined
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const { size, mode } = await handle.stat()
  if (size > mostBytes) return 'too-large'
  return { executable: (mode & constants.S_IXUSR) !== 0, bytes: await firstBytes(handle, size) }
}

/** As many as there were when it was looked at, though it may grow. */
async function firstBytes(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(size)
  let read = 0
  while (read < size) {
    const { bytesRead } = await handle.read(bytes, read, size - read, read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return bytes.subarray(0, read)
}
