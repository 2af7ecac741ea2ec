import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'

/** Resolves the links in the part of the path that exists. */
export async function futurePath(path: string): Promise<string> {
  const real = await unlessAbsent(realpath(path))
  if (real !== undefined || path === dirname(path)) return real ?? path
  return join(await futurePath(dirname(path)), basename(path))
}
