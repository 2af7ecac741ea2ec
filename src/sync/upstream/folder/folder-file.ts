import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { ObjectId } from '../../model/revision.ts'
import { pacedBlobId } from '../objects/paced-hash.ts'
import { FolderChangedError, folderErrorAt, readFault, type PlaceFault } from './folder-error.ts'
import { fileMarkOf } from './folder-hashes.ts'
import type { FolderHashes } from './folder-hashes.ts'
import type { FolderRest } from './folder-rest.ts'
import type { OpenFolder } from './open-folder.ts'

/** The id of a file's content, or why it cannot be taken; and its executable bit. */
export interface HashedFile {
  readonly executable: boolean
  readonly content: HashedContent | { readonly reason: 'too-large' | PlaceFault }
}

interface HashedContent {
  readonly id: ObjectId
  readonly size: number
  /** The bytes of a recently changed file, which may soon change again. */
  readonly bytes?: Buffer
}

/** The parameters of hashing a file. `path` is raw. */
export interface Hashing {
  readonly path: string
  readonly blobBytes: number
  readonly hashes: FolderHashes | undefined
  readonly rest: FolderRest | undefined
  /** Same as in `Walking`. */
  readonly isLastAttempt: boolean
}

/** Hashes a regular file; reads it only if its id is not cached. */
export async function hashFile(
  folder: OpenFolder,
  name: string,
  hashing: Hashing,
  signal: AbortSignal,
): Promise<HashedFile> {
  try {
    return await hashUnlessKnown(folder, name, hashing, signal)
  } catch (cause) {
    const reason = folderErrorAt(hashing.path, cause, hashing.isLastAttempt)
    return { executable: false, content: { reason } }
  }
}

async function hashUnlessKnown(
  folder: OpenFolder,
  name: string,
  hashing: Hashing,
  signal: AbortSignal,
): Promise<HashedFile> {
  const { path, blobBytes, hashes, rest } = hashing
  const seen = await folder.stat(name)
  const known = hashes?.idOf(path, seen)
  if (known !== undefined) return { executable: isExecutable(seen), content: { id: known, size: Number(seen.size) } }
  const stat = rest === undefined ? seen : await rest.settled(() => folder.stat(name), signal)
  if (stat === undefined) return { executable: false, content: { reason: 'changing' } }
  if (!stat.isFile()) throw new FolderChangedError(path)
  const [executable, size] = [isExecutable(stat), Number(stat.size)]
  if (size > blobBytes) return { executable, content: { reason: 'too-large' } }
  const bytes = await readAll(folder, name, { path, stat })
  const id = await pacedBlobId(bytes)
  const isSettled = hashes?.keep(path, stat, id) ?? true
  return { executable, content: { id, size, ...(!isSettled && { bytes }) } }
}

function isExecutable({ mode }: BigIntStats): boolean {
  return (mode & 0o100n) !== 0n
}

/** Reads a regular file of at most `mostBytes`, at any depth, in one consistent state. `path` is raw. */
export async function readFile(folder: OpenFolder, path: string, mostBytes: number): Promise<Buffer> {
  try {
    return await readBelow(folder, path.split('/'), path, mostBytes)
  } catch (cause) {
    return readFault(path)(cause)
  }
}

/** Opens each folder on the path in turn. */
async function readBelow(
  folder: OpenFolder,
  names: readonly string[],
  path: string,
  mostBytes: number,
): Promise<Buffer> {
  const [name = '', ...rest] = names
  if (rest.length > 0) {
    await using below = await folder.folder(name)
    return await readBelow(below, rest, path, mostBytes)
  }
  const stat = await folder.stat(name)
  if (!stat.isFile() || Number(stat.size) > mostBytes) throw new FolderChangedError(path)
  return readAll(folder, name, { path, stat })
}

/** Reads a regular file in one consistent state, which its stat describes. `path`: for the error. */
export async function readAll(
  folder: OpenFolder,
  name: string,
  { path, stat }: { readonly path: string; readonly stat: BigIntStats },
): Promise<Buffer> {
  await using handle = await folder.file(name)
  const isAsItWas = async (): Promise<boolean> => fileMarkOf(await handle.stat({ bigint: true })) === fileMarkOf(stat)
  if (!(await isAsItWas())) throw new FolderChangedError(path)
  const bytes = await readFully(handle, Number(stat.size))
  if (bytes === undefined || !(await isAsItWas())) throw new FolderChangedError(path)
  return bytes
}

/** `undefined` if the file is shorter than its declared size. */
async function readFully(handle: FileHandle, size: number): Promise<Buffer | undefined> {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size;) {
    const { bytesRead } = await handle.read(bytes, at, Math.min(size - at, PIECE_BYTES), at)
    if (bytesRead === 0) return undefined
    at += bytesRead
  }
  return bytes
}

const PIECE_BYTES = 2 ** 20
