import { createHash, hash, type Hash } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import type { Stats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { DigestedFile } from '../../model/digest.ts'
import { cannot, isDiskError } from '../files/disk-error.ts'
import type { SpoolReader, Spooled } from '../files/spool.ts'

/**
 * Writes spooled bytes to `path`, read-only. Returns why they are not the expected ones; `undefined` if they are. The
 * bytes are hashed as they are written. Yields the thread between the pieces of a large file.
 */
export async function writeSpooled(
  reader: SpoolReader,
  { file: spool, at }: Pick<Spooled, 'file' | 'at'>,
  path: string,
  file: DigestedFile,
): Promise<string | undefined> {
  const descriptor = openSync(path, 'wx', modeOf(file))
  try {
    const check = new ContentCheck(file)
    for (;;) {
      const size = Math.min(check.left, PIECE_BYTES)
      const piece = reader.read({ file: spool, at: at + file.size - check.left, size })
      if (piece.length < size) return endsEarly(check.left - piece.length)
      check.update(piece)
      for (let done = 0; done < size;) done += writeSync(descriptor, piece, done)
      if (check.left === 0) break
      await setImmediate()
    }
    return check.problem() ?? makeReadOnly(descriptor, fstatSync(descriptor), file)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Copies a stored file to `path`, read-only. Returns why it is not the expected one; `undefined` if it is. The copy is
 * hashed in its new place, so it cannot change between check and copy. Does not yield the thread.
 */
export function copyStored(stored: string, path: string, file: DigestedFile): string | undefined {
  // Copying would follow a link, and block forever on a pipe.
  const there = lstatSync(stored, { throwIfNoEntry: false })
  if (there === undefined) return 'it is gone'
  if (!there.isFile()) return 'it is not a regular file'
  // A reflink if the disk supports it; never a hard link, because an agent that writes to its copy would change all of
  // them.
  copyFileSync(stored, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  const descriptor = openSync(path, UNFOLLOWED)
  try {
    const found = fstatSync(descriptor)
    return statProblem(found, file) ?? contentProblem(descriptor, file) ?? makeReadOnly(descriptor, found, file)
  } finally {
    closeSync(descriptor)
  }
}

/** Sets the mode, regardless of the umask and of the mode of the copied file. */
function makeReadOnly(descriptor: number, { mode }: Stats, file: DigestedFile): undefined {
  if ((mode & 0o777) !== modeOf(file)) fchmodSync(descriptor, modeOf(file))
}

function modeOf({ executable }: DigestedFile): number {
  return executable ? 0o555 : 0o444
}

function contentProblem(descriptor: number, file: DigestedFile): string | undefined {
  const check = new ContentCheck(file)
  const piece = Buffer.allocUnsafe(Math.min(file.size, PIECE_BYTES))
  while (check.left > 0) {
    const bytesRead = readSync(descriptor, piece, 0, Math.min(check.left, piece.length), null)
    if (bytesRead === 0) break
    check.update(piece.subarray(0, bytesRead))
  }
  return check.problem()
}

/**
 * Returns the bytes of the file, or the reason for a failure. Never returns bytes that differ from the expected file.
 */
export async function readVerified(path: string, file: DigestedFile): Promise<Buffer | { readonly problem: string }> {
  const pieces: Buffer[] = []
  const problem = await problemOf(path, file, (piece) => pieces.push(piece))
  if (problem !== undefined) return { problem }
  const [first, ...others] = pieces
  return first !== undefined && others.length === 0 ? first : Buffer.concat(pieces)
}

/** Returns why the file at the path is not the expected one; `undefined` if it matches byte for byte. */
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

/**
 * An agent of the same user may have put a link, a pipe or a device there. Such an entry must not be followed or block
 * the open.
 */
const UNFOLLOWED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * The errors that concern this one file. Any other error (no descriptor left, no memory) says nothing about it, and is
 * thrown.
 */
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

/** Hashes the bytes of a file as they arrive, and compares the result with the expected digest. */
class ContentCheck {
  readonly #file: DigestedFile
  #hash: Hash | undefined
  #sha256: string | undefined
  /** The number of bytes still to come. */
  left: number

  constructor(file: DigestedFile) {
    this.#file = file
    this.left = file.size
  }

  update(piece: Buffer): void {
    // Most files come in one piece, and the setup of an incremental hash costs more than hashing one.
    if (piece.length === this.#file.size) this.#sha256 = hash('sha256', piece)
    else (this.#hash ??= createHash('sha256')).update(piece)
    this.left -= piece.length
  }

  problem(): string | undefined {
    if (this.left > 0) return endsEarly(this.left)
    this.#sha256 ??= (this.#hash ?? createHash('sha256')).digest('hex')
    return this.#sha256 === this.#file.sha256 ? undefined : OTHER
  }
}

const OTHER = 'its SHA-256 is another'

function endsEarly(left: number): string {
  return `it ends ${left} bytes too early`
}
