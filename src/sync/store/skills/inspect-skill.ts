import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { foldersAbove, joinPath } from '../../../base/paths.ts'
import type { SkillFile } from '../../model/skill.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { problemOf } from './skill-file.ts'
import type { StoredSkill } from './stored-path.ts'

/** The result of inspecting a stored skill. */
export interface Inspection {
  readonly damage: readonly { readonly path: string; readonly problem: string }[]
  /** Foreign entries next to the skill's files; of a foreign folder only its own name. Never read, never served. */
  readonly strangers: readonly string[]
}

/** Reads every file of the skill below `folder`, which is named by the digest, and lists the foreign entries. */
export async function inspectSkill(folder: string, skill: StoredSkill): Promise<Inspection> {
  const damage: { path: string; problem: string }[] = []
  for (const file of skill.files) {
    const path = join(folder, skill.folderName, file.path)
    const problem = (await problemOf(path, file)) ?? (await modeProblem(path, file))
    if (problem !== undefined) damage.push({ path: file.path, problem })
  }
  return { damage, strangers: await strangersIn(folder, skill) }
}

async function modeProblem(path: string, file: SkillFile): Promise<string | undefined> {
  const found = await unlessAbsent(lstat(path)).catch(cannot(`look at "${path}"`))
  const wanted = file.executable ? 0o555 : 0o444
  const mode = (found?.mode ?? 0) & 0o777
  return mode === wanted ? undefined : `its mode is ${mode.toString(8)}, not ${wanted.toString(8)}`
}

/** Opens only the skill's own folders: a foreign one may be large, or be a link to anywhere. */
async function strangersIn(folder: string, { folderName, files }: StoredSkill): Promise<string[]> {
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
