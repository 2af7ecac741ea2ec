import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { ObjectId } from '../../model/revision.ts'
import { FolderChanged, faultAt, readFault, type PlaceFault } from './folder-error.ts'
import { markOf } from './folder-hashes.ts'
import type { FolderHashes } from './folder-hashes.ts'
import type { FolderRest } from './write-settle.ts'
import type { OpenFolder } from './open-folder.ts'
import { pacedBlobId } from '../git/objects/paced-hash.ts'

/** The id of a file's content, or why it cannot be taken; and whether it may be run. */
export interface HashedFile {
  readonly executable: boolean
  readonly content: HashedContent | { readonly reason: 'too-large' | PlaceFault }
}

interface HashedContent {
  readonly id: ObjectId
  readonly size: number
  /** Of a file that was changed a moment ago, and may be another soon. */
  readonly bytes?: Buffer
}

/** What a file is hashed with. `path` is raw. */
export interface Hashing {
  readonly path: string
  readonly blobBytes: number
  readonly hashes: FolderHashes | undefined
  readonly rest: FolderRest | undefined
  /** As in `Walking`. */
  readonly isLastAttempt: boolean
}

/** Looks at a plain file; reads it where its id is not known. */
export async function hashFile(
  folder: OpenFolder,
  name: string,
  hashing: Hashing,
  signal: AbortSignal,
): Promise<HashedFile> {
  try {
    return await hashed(folder, name, hashing, signal)
  } catch (cause) {
    const reason = faultAt(hashing.path, cause, hashing.isLastAttempt)
    return { executable: false, content: { reason } }
  }
}

async function hashed(folder: OpenFolder, name: string, hashing: Hashing, signal: AbortSignal): Promise<HashedFile> {
  const { path, blobBytes, hashes, rest } = hashing
  const seen = await folder.stat(name)
  const known = hashes?.idOf(path, seen)
  if (known !== undefined) return { executable: isExecutable(seen), content: { id: known, size: Number(seen.size) } }
  const stat = rest === undefined ? seen : await rest.settled(() => folder.stat(name), signal)
  if (stat === undefined) return { executable: false, content: { reason: 'changing' } }
  if (!stat.isFile()) throw new FolderChanged(path)
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

/** The bytes of a plain file of at most so many bytes, some folders down, read in one state of it. `path` is raw. */
export async function readFile(folder: OpenFolder, path: string, mostBytes: number): Promise<Buffer> {
  try {
    return await readBelow(folder, path.split('/'), path, mostBytes)
  } catch (cause) {
    return readFault(path)(cause)
  }
}

/** Down from the top, name by name. */
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
  if (!stat.isFile() || Number(stat.size) > mostBytes) throw new FolderChanged(path)
  return readAll(folder, name, { path, stat })
}

async function readAll(
  folder: OpenFolder,
  name: string,
  { path, stat }: { readonly path: string; readonly stat: BigIntStats },
): Promise<Buffer> {
  await using handle = await folder.file(name)
  const isAsItWas = async (): Promise<boolean> => markOf(await handle.stat({ bigint: true })) === markOf(stat)
  if (!(await isAsItWas())) throw new FolderChanged(path)
  const bytes = await filled(handle, Number(stat.size))
  if (bytes === undefined || !(await isAsItWas())) throw new FolderChanged(path)
  return bytes
}

/** Undefined where the file is shorter than it said. */
async function filled(handle: FileHandle, size: number): Promise<Buffer | undefined> {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size;) {
    const { bytesRead } = await handle.read(bytes, at, Math.min(size - at, PIECE_BYTES), at)
    if (bytesRead === 0) return undefined
    at += bytesRead
  }
  return bytes
}

const PIECE_BYTES = 2 ** 20
