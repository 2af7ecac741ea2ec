import { constants } from 'node:fs'
import { open, realpath, stat, type FileHandle } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Skill } from '../model/skill.ts'
import type { DirectorySource } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { diskCodeOf, isForbidden, isGone } from './open-folder.ts'

/** The SKILL.md of a skill as its author has it now: it may be newer than what is served. */
export interface AuthoredDocument {
  /** Absolute, in the folder that the operator named. */
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * Reads the SKILL.md of a skill where it was written. Undefined where it is gone, has become something else, is larger than
 * `mostBytes`, or leads out of the folder: what is served of it then is what there is.
 */
export async function authoredDocument(
  source: Pick<DirectorySource, 'path' | 'root'>,
  skill: Pick<Skill, 'path'>,
  mostBytes: number,
): Promise<AuthoredDocument | undefined> {
  const path = join(source.path, source.root, skill.path, 'SKILL.md')
  try {
    // A pipe that stands there is not waited for.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!(await isInside(handle, path, source.path))) return undefined
    const bytes = await filled(handle, mostBytes)
    return bytes && { path, bytes }
  } catch (cause) {
    if (isGone(cause) || isForbidden(cause)) return undefined
    const code = diskCodeOf(cause)
    if (code === undefined) throw cause
    throw new SyncError('source-unreachable', `Cannot read "${path}": ${code}`, { cause })
  }
}

/** Whether what was opened is what lies below the folder: a link may have been put in its place meanwhile. */
async function isInside(handle: FileHandle, path: string, folder: string): Promise<boolean> {
  const [real, top] = [await realpath(path), await realpath(folder)]
  if (!real.startsWith(top.endsWith(sep) ? top : top + sep)) return false
  const [opened, found] = [await handle.stat(), await stat(real)]
  return opened.isFile() && opened.dev === found.dev && opened.ino === found.ino
}

/** Undefined where there is more. */
async function filled(handle: FileHandle, mostBytes: number): Promise<Uint8Array | undefined> {
  const { size } = await handle.stat()
  if (size > mostBytes) return undefined
  const bytes = Buffer.alloc(size)
  let length = 0
  while (length < size) {
    const { bytesRead } = await handle.read(bytes, length, size - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return bytes.subarray(0, length)
}
