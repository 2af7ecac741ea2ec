import { createHash, hash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { DigestedFile } from '../../model/digest.ts'
import { cannot, isDiskError } from './disk-error.ts'

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
