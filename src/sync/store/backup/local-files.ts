import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { fileNamesIn } from '../files/state-folder.ts'

/** A file of the state folder beside the database, by its path in the folder. */
export interface LocalFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * The files beside the database: the operator's decisions and the records of this machine, which a person can read.
 * Everything else in the folder can be fetched or made again.
 */
const FILES = [
  'decisions.json',
  'decisions-copy.json',
  'generations/decisions.json',
  'tokens.json',
  'links.json',
  'changes',
  'current',
] as const

/** True for the path of a file that a backup may have: nothing else is ever written by a restore. */
export function isLocalFile(path: string): boolean {
  return FILES.some((file) => file === path) || /^sources\/[a-z0-9][a-z0-9._-]*\.json$/.test(path)
}

/** Reads the files of a state folder that a backup has beside the objects. */
export async function readLocalFiles(root: string): Promise<readonly LocalFile[]> {
  const records = (await fileNamesIn(join(root, 'sources'))).map((name) => `sources/${name}`)
  const files: LocalFile[] = []
  for (const path of [...FILES, ...records].filter(isLocalFile)) {
    const file = join(root, path)
    const bytes = await unlessAbsent(readFile(file)).catch(cannot(`read "${file}"`))
    if (bytes !== undefined) files.push({ path, bytes })
  }
  return files
}
