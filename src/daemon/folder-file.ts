import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isDiskError } from '../sync/store/disk-error.ts'

/** A file of a folder as it lies there at the moment. */
interface FolderFile {
  /** As it was asked for: absolute where the folder is. */
  readonly path: string
  /** Undefined where it has another size than was expected. */
  readonly bytes: Uint8Array | undefined
}

/**
 * Reads a regular file that lies in the folder once links are resolved, if it has this size: no more than that is ever read.
 * Undefined where there is none to read. Somebody may be at work in the folder.
 */
export async function readInside(folder: string, name: string, size: number): Promise<FolderFile | undefined> {
  const path = join(folder, name)
  try {
    const [root, real] = await Promise.all([realpath(folder), realpath(path)])
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined
    await using file = await open(real, UNFOLLOWED)
    const found = await file.stat()
    if (!found.isFile()) return undefined
    if (found.size !== size) return { path, bytes: undefined }
    const bytes = Buffer.alloc(size)
    const { bytesRead } = await file.read(bytes, 0, size, 0)
    return { path, bytes: bytesRead === size ? bytes : undefined }
  } catch (error) {
    if (isDiskError(error)) return undefined
    throw error
  }
}

/** A link or a pipe that was put in its place meanwhile is neither followed nor waited for. */
const UNFOLLOWED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
