import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { foldersAbove, joinPath } from '../../../base/paths.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import type { StoredSkill } from '../skills/stored-path.ts'

/**
 * Returns the foreign entries next to a skill's files in its checkout; of a foreign folder only its own name. It opens only
 * the skill's own folders: a foreign one may be large, or be a link to anywhere.
 */
export async function strangersIn(
  folder: string,
  { folderName, files }: Pick<StoredSkill, 'folderName' | 'files'>,
): Promise<string[]> {
  const folders = new Set(['', folderName])
  const known = new Set([folderName])
  for (const { path } of files) {
    known.add(joinPath(folderName, path))
    for (const above of foldersAbove(path)) folders.add(joinPath(folderName, above))
  }
  const strangers: string[] = []
  for (const inside of folders) {
    const entries = await unlessAbsent(readdir(join(folder, inside), { withFileTypes: true })).catch(
      cannot(`list "${join(folder, inside)}"`),
    )
    for (const entry of entries ?? []) {
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`
      if (!known.has(path) && !(entry.isDirectory() && folders.has(path))) strangers.push(path)
    }
  }
  return strangers
}
