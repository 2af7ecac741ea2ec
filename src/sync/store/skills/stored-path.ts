import { foldedPath, foldersAbove } from '../../../base/paths.ts'
import { digestOf } from '../../model/digest.ts'
import type { Docs } from '../../model/docs-folder.ts'
import type { Skill, SkillFile } from '../../model/skill.ts'
import type { Snapshot } from '../../model/snapshot.ts'
import type { SourceId } from '../../model/source-id.ts'
import { SyncError } from '../../model/sync-error.ts'
import { isSkillName } from '../../skill/skill-name.ts'
import { formProblem, gitFolderProblem, PATH_LIMITS } from '../../skill/skill-path.ts'

/** A skill version or docs folder in the store. Its checkout is `checkouts/<digest>/<folderName>/…`. */
export interface StoredSkill {
  readonly place: ContentFolder
  readonly digest: string
  /** Empty for docs, whose files are directly below the digest. */
  readonly folderName: string
  readonly files: readonly SkillFile[]
  /** The MCP server of the skill: its files are those that were fetched from there, and no others. */
  readonly upstream?: SourceId
}

/** The kind of content; the state folders of formats 1 and 2 had a subfolder for each. */
export type ContentFolder = 'skills' | 'docs'

/** Returns the label of the skill or docs for messages. */
export function calledOf({ place, digest }: Pick<StoredSkill, 'place' | 'digest'>): string {
  return `${place === 'docs' ? 'docs' : 'skill'} ${JSON.stringify(digest.slice(0, 64))}`
}

/** Returns the name of the folder that agents see: the skill's own name if that is valid, else `skill`. */
export function folderNameOf(skill: Skill): string {
  return skill.name !== undefined && isSkillName(skill.name) ? skill.name : 'skill'
}

/** True for a SHA-256 in lowercase hex, the only form in names below the state folder. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text)
}

const DIGEST = /^[0-9a-f]{64}$/

/**
 * Throws `content-refused` unless the skill can be written below its own folder and nowhere else. The survey makes the
 * same checks. They are repeated here because an upstream chose these paths, and the code that opens the files must not
 * rely on the code that read the paths.
 */
export function checkStorable(skill: StoredSkill): void {
  if (skill.files.length === 0) throw refusal(skill, 'it has no files')
  for (const { path } of skill.files) checkPath(skill, path)
  checkDistinct(skill)
}

/** Throws `content-refused` unless the path leads to a place below the skill's own folder. */
export function checkPath(skill: StoredSkill, path: string): void {
  if (!isDigest(skill.digest)) throw refusal(skill, 'its digest is not a SHA-256')
  if (!isFolderName(skill)) throw refusal(skill, `its folder would be named ${JSON.stringify(skill.folderName)}`)
  const problem = formProblem(path, PATH_LIMITS) ?? gitFolderProblem(path)
  if (problem !== undefined) throw refusal(skill, `the path ${JSON.stringify(path.slice(0, 200))} ${problem}`)
}

function isFolderName({ place, folderName }: StoredSkill): boolean {
  return place === 'docs' ? folderName === '' : isSkillName(folderName)
}

/**
 * Throws `store-failed` unless the digest is that of the files. A wrong digest is a caller's mistake, and this is the
 * last chance to detect it.
 */
export function checkDigest(skill: StoredSkill): void {
  const digest = digestOf(skill.files)
  if (digest === skill.digest) return
  throw new SyncError('store-failed', `Cannot keep the ${calledOf(skill)}: the digest of its files is "${digest}"`)
}

/** On a file system that folds case, the second of two such files would overwrite the first. */
function checkDistinct(skill: StoredSkill): void {
  const files = new Set<string>()
  for (const { path } of skill.files) {
    const folded = foldedPath(path)
    if (files.has(folded)) throw refusal(skill, `the path ${JSON.stringify(path)} is there twice on some disks`)
    files.add(folded)
  }
  for (const path of files) {
    for (const folder of foldersAbove(path)) {
      if (files.has(folder)) throw refusal(skill, `the path ${JSON.stringify(folder)} is both a file and a folder`)
    }
  }
}

function refusal(skill: StoredSkill, why: string): SyncError {
  return new SyncError('content-refused', `Cannot keep the ${calledOf(skill)}: ${why}`)
}

/** The key of a skill in the store. The skill must have files. Those of another MCP server need not be there. */
export function storedSkill(skill: Skill): StoredSkill {
  if (skill.digest === undefined)
    throw new SyncError('store-failed', `Cannot find the skill in "${skill.path}": it was withheld and not stored`)
  const { digest, files, upstream } = skill
  const stored = { place: 'skills', digest, folderName: folderNameOf(skill), files } as const
  return upstream === undefined ? stored : { ...stored, upstream: upstream.source }
}

/** The key of a skill, or of the docs folder, in the store. */
export function storedOf(kept: Skill | Docs): StoredSkill {
  return 'kind' in kept ? { place: 'docs', digest: kept.digest, folderName: '', files: kept.files } : storedSkill(kept)
}

/** Returns the skills and docs of a snapshot that are in the store: not those of another MCP server. */
export function storedIn(snapshot: Pick<Snapshot, 'skills' | 'docs'>): StoredSkill[] {
  return keptIn(snapshot).map(storedOf)
}

export function keptIn({ skills, docs }: Pick<Snapshot, 'skills' | 'docs'>): (Skill | Docs)[] {
  const stored = skills.filter(
    ({ digest, standing, upstream }) => digest !== undefined && standing !== 'withheld' && upstream === undefined,
  )
  return [...stored, ...(docs === undefined ? [] : [docs])]
}
