import { createHash, hash } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
} from 'node:fs'
import type { Stats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { DigestedFile } from '../model/digest.ts'
import { cannot, isDiskError } from './disk-error.ts'

/** Where the bytes of a file are now, and whether they may leave. */
export interface Bytes {
  readonly file: string
  readonly move: boolean
}

/**
 * Puts the bytes at `path`, closed to writing. Says why the file there is not the one that was meant, undefined if it is:
 * what is hashed is the file in its new place, so nothing can come between. Does not let go of the thread.
 */
export function place(bytes: Bytes, path: string, file: DigestedFile): string | undefined {
  if (bytes.move) renameSync(bytes.file, path)
  else {
    // Copying would follow a link, and wait for ever on a pipe.
    const found = lstatSync(bytes.file, { throwIfNoEntry: false })
    if (found === undefined) return 'it is gone'
    if (!found.isFile()) return 'it is not a regular file'
    // A reflink where the disk has it; never a hard link: an agent that writes to its copy would write to all.
    copyFileSync(bytes.file, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  }
  const descriptor = openSync(path, UNFOLLOWED)
  try {
    const found = fstatSync(descriptor)
    const problem = statProblem(found, file) ?? contentProblem(descriptor, file)
    const mode = file.executable ? 0o555 : 0o444
    if (problem === undefined && (found.mode & 0o777) !== mode) fchmodSync(descriptor, mode)
    return problem
  } finally {
    closeSync(descriptor)
  }
}

function contentProblem(descriptor: number, file: DigestedFile): string | undefined {
  if (file.size <= PIECE_BYTES) return smallProblem(descriptor, file)
  const check = new ContentCheck(file)
  const piece = Buffer.allocUnsafe(Math.min(Math.max(file.size, 1), PIECE_BYTES))
  while (check.left > 0) {
    const bytesRead = readSync(descriptor, piece, 0, Math.min(check.left, piece.length), null)
    if (bytesRead === 0) break
    check.update(piece.subarray(0, bytesRead))
  }
  return check.problem()
}

/** Most files are small, and to set up a hash that takes pieces costs more than to hash one. */
function smallProblem(descriptor: number, file: DigestedFile): string | undefined {
  const bytes = Buffer.allocUnsafe(file.size)
  let filled = 0
  while (filled < file.size) {
    const bytesRead = readSync(descriptor, bytes, filled, file.size - filled, null)
    if (bytesRead === 0) return endsEarly(file.size - filled)
    filled += bytesRead
  }
  return hash('sha256', bytes) === file.sha256 ? undefined : OTHER
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
      return statProblem(await handle.stat(), file) ?? (await readProblem(handle, file, take))
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

async function readProblem(
  handle: FileHandle,
  file: DigestedFile,
  take: (piece: Buffer) => void,
): Promise<string | undefined> {
  const check = new ContentCheck(file)
  while (check.left > 0) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(check.left, PIECE_BYTES)), 0)
    if (bytesRead === 0) break
    const piece = buffer.subarray(0, bytesRead)
    check.update(piece)
    take(piece)
  }
  return check.problem()
}

function statProblem(found: Stats, file: DigestedFile): string | undefined {
  if (!found.isFile()) return 'it is not a regular file'
  return found.size === file.size ? undefined : `it has ${found.size} bytes, not ${file.size}`
}

/** Goes along with the bytes of a file, to say at their end whether they are the ones that were meant. */
class ContentCheck {
  readonly #file: DigestedFile
  readonly #hash = createHash('sha256')
  /** Bytes that are still to come. */
  left: number

  constructor(file: DigestedFile) {
    this.#file = file
    this.left = file.size
  }

  update(piece: Buffer): void {
    this.#hash.update(piece)
    this.left -= piece.length
  }

  problem(): string | undefined {
    if (this.left > 0) return endsEarly(this.left)
    return this.#hash.digest('hex') === this.#file.sha256 ? undefined : OTHER
  }
}

const OTHER = 'its SHA-256 is another'

function endsEarly(left: number): string {
  return `it ends ${left} bytes too early`
}
