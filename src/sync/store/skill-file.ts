import { createHash } from 'node:crypto'
import { chmod, constants, copyFile, lstat, open, rename, type FileHandle } from 'node:fs/promises'
import type { DigestedFile } from '../model/digest.ts'
import { cannot, isDiskError } from './disk-error.ts'

/** Where the bytes of a file are now, and whether they may leave. */
export interface Bytes {
  readonly file: string
  readonly move: boolean
}

/**
 * Puts the bytes at `path`, closed to writing. Says why the file there is not the one that was meant, undefined if it is:
 * what is hashed is the file in its new place, so nothing can come between.
 */
export async function place(bytes: Bytes, path: string, file: DigestedFile): Promise<string | undefined> {
  if (bytes.move) await rename(bytes.file, path)
  else {
    // Copying would follow a link, and wait for ever on a pipe.
    if (!(await lstat(bytes.file)).isFile()) return 'it is not a regular file'
    // A reflink where the disk has it; never a hard link: an agent that writes to its copy would write to all.
    await copyFile(bytes.file, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  }
  const problem = await problemOf(path, file)
  if (problem === undefined) await chmod(path, file.executable ? 0o555 : 0o444)
  return problem
}

/** The bytes of the file, or why they cannot be had: what is not exactly the file that was meant is never given out. */
export async function readVerified(path: string, file: DigestedFile): Promise<Buffer | { readonly problem: string }> {
  const pieces: Buffer[] = []
  const problem = await problemOf(path, file, (piece) => pieces.push(piece))
  if (problem !== undefined) return { problem }
  const [first, ...others] = pieces
  return first !== undefined && others.length === 0 ? first : Buffer.concat(pieces)
}

/** Why the file at the path is not the one that was meant; undefined if it is, byte for byte. */
export async function problemOf(
  path: string,
  file: DigestedFile,
  take: (piece: Buffer) => void = () => {},
): Promise<string | undefined> {
  try {
    const handle = await open(path, UNFOLLOWED)
    try {
      return await contentProblem(handle, file, take)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isDiskError(error, ...DAMAGE)) return `it cannot be read: ${error.code}`
    return cannot(`read "${path}"`)(error)
  }
}

/** An agent of the same user may have put a link, a pipe or a device in the file's place: followed or waited for, it is ours. */
const UNFOLLOWED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** What speaks of this one file. All else (no descriptor left, no memory) says nothing about it, and is thrown. */
const DAMAGE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES', 'EPERM', 'EIO'] as const

const PIECE_BYTES = 2 ** 20

async function contentProblem(
  handle: FileHandle,
  file: DigestedFile,
  take: (piece: Buffer) => void,
): Promise<string | undefined> {
  const found = await handle.stat()
  if (!found.isFile()) return 'it is not a regular file'
  if (found.size !== file.size) return `it has ${found.size} bytes, not ${file.size}`
  const hash = createHash('sha256')
  for (let left = file.size; left > 0;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(left, PIECE_BYTES)), 0)
    if (bytesRead === 0) return `it ends ${left} bytes too early`
    const piece = buffer.subarray(0, bytesRead)
    hash.update(piece)
    take(piece)
    left -= bytesRead
  }
  return hash.digest('hex') === file.sha256 ? undefined : 'its SHA-256 is another'
}
