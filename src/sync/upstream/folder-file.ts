import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { ObjectId } from '../model/revision.ts'
import { markOf } from './folder-hashes.ts'
import type { FolderHashes } from './folder-hashes.ts'
import { FolderChanged, readFault } from './folder-walk.ts'
import { idOf } from './git-object.ts'
import { isForbidden, type OpenFolder } from './open-folder.ts'

/** The id of a file's content, or why it cannot be taken; and whether it may be run. */
export interface HashedFile {
  readonly executable: boolean
  readonly content: { readonly id: ObjectId; readonly size: number } | { readonly reason: 'too-large' | 'forbidden' }
}

/** What a file is hashed with. `path` is raw. */
export interface Hashing {
  readonly path: string
  readonly blobBytes: number
  readonly hashes: FolderHashes | undefined
}

/** Looks at a plain file; reads it where its id is not known. */
export async function hashFile(folder: OpenFolder, name: string, hashing: Hashing): Promise<HashedFile> {
  const { path, blobBytes, hashes } = hashing
  const stat = await folder.stat(name).catch(orForbidden(path))
  if (stat === undefined) return { executable: false, content: { reason: 'forbidden' } }
  if (!stat.isFile()) throw new FolderChanged(path)
  const size = Number(stat.size)
  const executable = (stat.mode & 0o100n) !== 0n
  if (size > blobBytes) return { executable, content: { reason: 'too-large' } }
  const known = hashes?.idOf(path, stat)
  if (known !== undefined) return { executable, content: { id: known, size } }
  const bytes = await readAll(folder, name, { path, stat })
  if (bytes === undefined) return { executable, content: { reason: 'forbidden' } }
  const id = idOf({ type: 'blob', bytes }, 'sha256')
  hashes?.keep(path, stat, id)
  return { executable, content: { id, size } }
}

/** The bytes of a plain file of at most so many bytes, read in one state of it; undefined where we may not. */
export async function readFile(
  folder: OpenFolder,
  name: string,
  path: string,
  blobBytes: number,
): Promise<Buffer | undefined> {
  const stat = await folder.stat(name).catch(orForbidden(path))
  if (stat === undefined) return undefined
  if (!stat.isFile() || Number(stat.size) > blobBytes) throw new FolderChanged(path)
  return readAll(folder, name, { path, stat })
}

async function readAll(
  folder: OpenFolder,
  name: string,
  { path, stat }: { readonly path: string; readonly stat: BigIntStats },
): Promise<Buffer | undefined> {
  const opened = await folder.file(name).catch(orForbidden(path))
  if (opened === undefined) return undefined
  await using handle = opened
  const isAsItWas = async (): Promise<boolean> => markOf(await handle.stat({ bigint: true })) === markOf(stat)
  try {
    if (!(await isAsItWas())) throw new FolderChanged(path)
    const bytes = await filled(handle, Number(stat.size))
    if (bytes === undefined || !(await isAsItWas())) throw new FolderChanged(path)
    return bytes
  } catch (cause) {
    return readFault(path)(cause)
  }
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

function orForbidden(path: string): (cause: unknown) => undefined {
  return (cause) => {
    if (isForbidden(cause)) return undefined
    return readFault(path)(cause)
  }
}
