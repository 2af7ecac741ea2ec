import { realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { isBelow, joinPath } from '../../../base/paths.ts'
import type { Skill, SkillFile } from '../../model/skill.ts'
import type { DirectorySource } from '../../model/source.ts'
import { SyncError } from '../../model/sync-error.ts'
import { pacedDigest } from '../objects/paced-hash.ts'
import { FolderChangedError, rawPath } from './folder-error.ts'
import { readFile } from './folder-file.ts'
import { followedTarget } from './folder-links.ts'
import { diskCodeOf, isForbidden, isGone, OpenFolder } from './open-folder.ts'

/** The present SKILL.md in the author's folder, which may be newer than the served one. */
export interface AuthoredDocument {
  /** The absolute path, in the folder that the operator configured. */
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * Reads the SKILL.md of a skill from the author's folder. `differs` if another file of the skill is not as served.
 * `undefined` if SKILL.md is gone, is no regular file, exceeds `mostBytes`, or leads out of the folder; then only the
 * served one exists. A link that the source follows leads to a folder of its own; `apart`: same as in `FolderReading`.
 */
export async function authoredDocument(
  source: Pick<DirectorySource, 'path' | 'root' | 'links'>,
  skill: Pick<Skill, 'path' | 'files'>,
  { mostBytes, apart }: { readonly mostBytes: number; readonly apart: readonly string[] },
): Promise<AuthoredDocument | 'differs' | undefined> {
  const folder = join(source.path, source.root, skill.path)
  const path = join(folder, 'SKILL.md')
  try {
    const [name = ''] = joinPath(source.root, skill.path).split('/', 1)
    const isFollowed = source.links === 'follow' && name !== ''
    const target = isFollowed ? await followedTarget(await realpath(source.path), rawPath(name), apart) : undefined
    await using place = await Place.open(target ?? source.path)
    const bytes = await place.read(path, mostBytes)
    if (bytes === undefined) return undefined
    for (const file of skill.files) {
      if (file.path !== 'SKILL.md' && !(await isAsServed(place, folder, file))) return 'differs'
    }
    return { path, bytes }
  } catch (cause) {
    if (cause instanceof FolderChangedError || isGone(cause) || isForbidden(cause)) return undefined
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    throw new SyncError('source-unreachable', `Cannot read "${path}": ${code}`, { cause })
  }
}

async function isAsServed(place: Place, folder: string, { path, size, sha256 }: SkillFile): Promise<boolean> {
  const bytes = await place.read(join(folder, path), size).catch(undefinedIfMoved)
  return bytes?.length === size && (await pacedDigest(bytes)) === sha256
}

/** Rethrows a permission error, because a further pull would not read the file either. */
function undefinedIfMoved(cause: unknown): undefined {
  if (cause instanceof FolderChangedError || isGone(cause)) return undefined
  throw cause
}

/** A folder that confines all reads. */
class Place implements AsyncDisposable {
  readonly #real: string
  readonly #folder: OpenFolder

  private constructor(real: string, folder: OpenFolder) {
    this.#real = real
    this.#folder = folder
  }

  static async open(path: string): Promise<Place> {
    const real = await realpath(path)
    return new Place(real, await OpenFolder.open(real))
  }

  /** Reads a regular file at a path that may contain links; `undefined` if it leads outside. Opens nothing else. */
  async read(path: string, mostBytes: number): Promise<Buffer | undefined> {
    const real = await realpath(path)
    if (!isBelow(real, this.#real === '/' ? '' : this.#real)) return undefined
    const raw = Buffer.from(relative(this.#real, real)).toString('latin1')
    return readFile(this.#folder, raw, mostBytes)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]()
  }
}
