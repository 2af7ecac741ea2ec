import { baseName } from '../../base/paths.ts'
import { comparePaths } from '../model/digest.ts'
import { contentKeyOf, isInLists } from '../model/skill.ts'
import type { Skill } from '../model/skill.ts'
import type { SourceId } from '../model/source-id.ts'
import { isYaml } from '../skill/entry-faults.ts'
import { isSkillName } from '../skill/skill-name.ts'
import { CatalogFile } from './catalog-file.ts'
import type { CatalogSkill, FolderSkill } from './catalog-file.ts'
import type { Catalog } from './catalog.ts'
import { filesOf } from './skill-files.ts'

/** The tools-only skills whose folder gives them a name, in the order of the sources and their paths. */
export function folderSkillsIn({ snapshots, sources }: Pick<Catalog, 'snapshots' | 'sources'>): readonly FolderSkill[] {
  const disabled = new Map(sources.map(([source, ...paths]) => [source, new Set<string>(paths)]))
  return snapshots.flatMap(({ source, skills }) =>
    skills.flatMap((skill) => (disabled.get(source)?.has(skill.path) === true ? [] : folderSkillOf(source, skill))),
  )
}

/** The skill by the name of its folder, if it is a tools-only one that the folder gives a name; else nothing. */
export function folderSkillOf(source: SourceId, skill: Skill): FolderSkill[] {
  const { standing, name, description, digest, path } = skill
  if (standing !== 'tools' || !isInLists(skill) || noFolderNameReason(skill) !== undefined) return []
  // Installers and agents read the frontmatter themselves, and take no skill that lacks these.
  if (name === undefined || description === undefined || digest === undefined) return []
  return [{ uri: undefined, source, name: baseName(path), description, digest, skill }]
}

/** The reason why a skill cannot be named after its folder; `undefined` if it can. */
export function noFolderNameReason({ path }: Pick<Skill, 'path'>): string | undefined {
  if (path === '') return 'it has no folder to be called after'
  return isSkillName(baseName(path)) ? undefined : `its folder "${baseName(path)}" has no name that a skill can have`
}

/** True if installers can read the frontmatter: they read only valid YAML. */
export function isReadByInstallers({ skill }: Pick<CatalogSkill, 'skill'>): boolean {
  return isYaml(skill)
}

/** Keeps each content once, and drops the content of a listed skill, which has a name of its own. */
export function withoutCopies(
  folderSkills: readonly FolderSkill[],
  inLists: readonly CatalogSkill[],
): readonly FolderSkill[] {
  if (folderSkills.length === 0) return []
  const had = new Set(inLists.map(({ skill }) => contentKeyOf(skill)))
  return inOrder(folderSkills).filter(({ skill }) => {
    const key = contentKeyOf(skill)
    const isFirst = !had.has(key)
    had.add(key)
    return isFirst
  })
}

function inOrder(folderSkills: readonly FolderSkill[]): readonly FolderSkill[] {
  return folderSkills.toSorted((a, b) => comparePaths(`${a.source}/${a.skill.path}`, `${b.source}/${b.skill.path}`))
}

/**
 * The files of a skill that is installed, SKILL.md first. For a skill without a URI, the files have no folder URI
 * either.
 */
export function filesToInstall(skill: CatalogSkill | FolderSkill): readonly CatalogFile[] {
  if (skill.uri !== undefined) return filesOf(skill)
  const { files } = skill.skill
  const [documents, others] = [true, false].map((is) => files.filter(({ path }) => (path === 'SKILL.md') === is))
  return [...(documents ?? []), ...(others ?? [])].map((file) => new CatalogFile('', skill.skill, file))
}
