import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { removeAll, writeWhole } from '../files/atomic.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { fileNamesIn, makeFolder } from '../files/state-folder.ts'

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
  return FILES.some((file) => file === path) || /^(?:sources|scans|logs)\/[a-z0-9][a-z0-9._-]*\.jsonl?$/.test(path)
}

/** Reads the files of a state folder that a backup has beside the objects. */
export async function readLocalFiles(root: string): Promise<readonly LocalFile[]> {
  const files: LocalFile[] = []
  for (const path of await namesIn(root)) {
    const file = join(root, path)
    const bytes = await unlessAbsent(readFile(file)).catch(cannot(`read "${file}"`))
    if (bytes !== undefined) files.push({ path, bytes })
  }
  return files
}

/** Returns the paths that there may be files at. */
async function namesIn(root: string): Promise<readonly string[]> {
  const records = (await fileNamesIn(join(root, 'sources'))).map((name) => `sources/${name}`)
  const scans = (await fileNamesIn(join(root, 'scans'))).map((name) => `scans/${name}`)
  const logs = (await fileNamesIn(join(root, 'logs'))).map((name) => `logs/${name}`)
  return [...FILES, ...records, ...scans, ...logs].filter(isLocalFile)
}

/** Puts these files in the place of those that are there. Each is written whole. */
export async function replaceLocalFiles(root: string, files: readonly LocalFile[]): Promise<void> {
  const wanted = new Set(files.map(({ path }) => path))
  for (const path of await namesIn(root)) if (!wanted.has(path)) await removeAll(join(root, path))
  for (const { path, bytes } of files) {
    makeFolder(dirname(join(root, path)), 0o700)
    await writeWhole(join(root, path), bytes)
  }
}
